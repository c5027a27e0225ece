public import BatonModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A request: one submitted job, as it was when the coordinator answered.
public struct JobRequest: Hashable, Sendable {
  /// Which request it is. Its `number` is set.
  public let name: Name
  /// What becomes of it.
  public let state: State
  /// The kind of its definition.
  public let kind: JobKind
  /// What the job calls itself; `nil` if neither its definition nor its launch says it.
  public let title: String?
  /// What the job says about its present work; `nil` if it says nothing.
  public let subtitle: String?
  /// How soon it starts among others.
  public let priority: Priority
  /// When it was submitted.
  public let submittedAt: Date
  /// Who submitted it: the name of a credential, or what a client of the coordinator's own user has said.
  public let submitter: String
  /// Before when it does not start; `nil` if it waits for an event and not for a time.
  public let eligibleAt: Date?
  /// How many times it was launched.
  public let launches: Int
  /// The batches that all its launches have committed together.
  public let batches: Int
  /// The units of work that are done.
  public let completedUnits: Int64
  /// The units of work in all; `nil` as long as the job has not said it.
  public let totalUnits: Int64?
  /// The host on which it runs, or ran last; `nil` before its first launch. A request with shards runs on several.
  public let host: String?
  /// When its last launch began; `nil` before its first launch.
  public let startedAt: Date?
  /// When it ended; `nil` if it has not.
  public let endedAt: Date?
  /// The code of the obstacle that a scheduled request waits for, such as `notBefore`; `nil` if it waits for none.
  /// `Documentation/reference/reasons.md` lists the codes.
  public let waitsFor: String?
  /// Why it failed, who cancelled it, what a refresh found, or why its last launch ended; `nil` if there is nothing to
  /// say.
  public let reason: String?
  /// The JSON that it gave as its result (`JobTask.setResult`, or `result` of a command), at most 64 KiB; `nil` if it
  /// has not succeeded, gave none, or was divided into shards.
  public let result: [UInt8]?
  /// The id of its trace: 32 hexadecimal digits.
  public let traceID: String

  /// The id of the request in the store, with which a list goes on.
  let id: Int64

  /// The name of a request: an identifier, and a number that counts from 1 within it.
  ///
  /// A call that gets a name without a number concerns the identifier's current request: the live one, else the one
  /// that waits for its first launch, else the one that ended last. A literal text is such a name.
  public struct Name: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The identifier, such as `com.example.export.42`.
    public var identifier: String
    /// The number; `nil` for the current request.
    public var number: Int?

    /// - Parameters:
    ///   - identifier: the identifier under which the request was submitted.
    ///   - number: the number of the request; `nil` for the current one.
    public init(_ identifier: String, number: Int? = nil) { (self.identifier, self.number) = (identifier, number) }

    /// The name of the identifier's current request.
    public init(stringLiteral value: String) { self.init(value) }

    /// The name for people: `com.example.export.42, request 3`.
    public var description: String { identifier + (number.map { ", request \($0)" } ?? "") }
  }

  /// What becomes of a request.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It waits for a time, or for the end of an earlier request of its identifier.
    case scheduled
    /// It waits for a host.
    case ready
    /// It runs.
    case running
    /// It has ended, and its work is done.
    case succeeded
    /// It has ended, because it has failed too often.
    case failed
    /// It has ended, because a person or a program has cancelled it.
    case cancelled

    /// Whether the request goes on no more.
    public var isEnded: Bool { [.succeeded, .failed, .cancelled].contains(self) }
    /// Whether the request waits for its next launch.
    public var isPending: Bool { self == .scheduled || self == .ready }
  }

  /// How soon a request starts: all requests of a higher priority go first.
  public enum Priority: String, Hashable, Sendable, CaseIterable, Comparable {
    /// When nothing else waits.
    case background
    /// The usual one.
    case utility
    /// A person waits for the result.
    case userInitiated

    /// Whether `left` goes after `right`.
    public static func < (left: Self, right: Self) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }
}
