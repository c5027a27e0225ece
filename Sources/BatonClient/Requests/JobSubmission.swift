internal import BatonBase
internal import BatonModel
internal import BatonProtobuf
internal import BatonWire
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The wish to run a job.
///
/// ```swift
/// var submission = try JobSubmission("com.example.import.orders", payload: ImportOrder(pages: 12))
/// submission.id = "import of 2026-11-27"
/// submission.earliestBegin = .after(.seconds(3_600))
/// submission.priority = .background
/// let accepted = try await client.submit(submission)
/// ```
///
/// The sample is from `Examples/Client/ImportClient.swift`.
public struct JobSubmission: Hashable, Sendable {
  /// The identifier of the job. A definition must be applied for it, or for a pattern that matches it.
  public var identifier: String
  /// The id of this submission, 1 to 64 bytes. The coordinator accepts one submission with an id: a second one gets the
  /// answer of the first. By default it is drawn, so that repeated attempts of one call submit once. Choose it yourself
  /// if your program may end between its attempts, and repeats the call when it starts again.
  public var id: String
  /// What the job gets, at most 64 KiB; `nil` for nothing.
  public var payload: [UInt8]?
  /// The earliest time of the first launch; `nil` leaves it to the definition.
  public var earliestBegin: EarliestBegin?
  /// The priority; `nil` leaves it to the definition.
  public var priority: JobRequest.Priority?
  /// Makes the submission a poke: it asks for a launch soon, and joins a request of the identifier that waits already.
  /// `nil` for an ordinary submission.
  public var poke: Poke?
  /// The submitter's span, in the form of W3C trace context; the spans of the request then belong to its trace. `nil`
  /// begins a trace. In a handler, `ServiceContext.current?.traceparent` of BatonWorker has it.
  public var traceparent: String?

  /// A submission without a payload.
  /// - Parameter identifier: the identifier of the job.
  public init(_ identifier: String) {
    self.identifier = identifier
    id = Self.drawnID()
  }

  /// A submission whose payload is `payload` as JSON, which a handler decodes with `JobTask.payload(as:)`. For other
  /// bytes, set the property `payload`.
  /// - Throws: `EncodingError` if it cannot be encoded.
  public init(_ identifier: String, payload: some Encodable) throws {
    self.init(identifier)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.payload = Array(try encoder.encode(payload))
  }

  /// Draws an id for a submission: 32 random hexadecimal digits.
  public static func drawnID() -> String {
    TraceID(high: RandomNumbers.next(), low: RandomNumbers.next()).description
  }

  /// The earliest time of a first launch.
  public enum EarliestBegin: Hashable, Sendable {
    /// So long after the submission, by a clock that does not step.
    case after(Duration)
    /// Not before this date.
    case at(Date)
  }

  /// How much a poke may disturb: the two priorities of Apple's push notifications.
  public enum Poke: Int, Hashable, Sendable, CaseIterable {
    /// The launch waits for the definition's `pokeSpacing`, so that many pokes start few launches.
    case considerate = 5
    /// The launch starts without regard to the spacing.
    case immediate = 10
  }
}

extension JobSubmission {
  /// - Throws: `JobClientError` with the code `.invalid` if a coordinator would refuse the submission as malformed.
  func proto() throws -> Baton_V1_SubmitRequest.Item {
    let identifier = try JobClient.identifier(identifier)
    guard (1...WireLimits.submissionID.most).contains(id.utf8.count) else {
      throw JobClientError(.invalid, "the id of a submission has 1 to \(WireLimits.submissionID.most) bytes")
    }
    if let payload, payload.count > WireLimits.payload.most {
      throw JobClientError(
        .invalid,
        "the payload has \(payload.count) bytes and the limit is \(WireLimits.payload.most): put it in a file and "
          + "submit its name")
    }
    return .with {
      ($0.id, $0.identifier) = (id, identifier.rawValue)
      if let payload { $0.payload = Data(payload) }
      switch earliestBegin {
      case .after(let delay): $0.earliestAfter = delay.nanoseconds
      case .at(let date): $0.earliestAt = date.nanoseconds
      case nil: break
      }
      if let priority { $0.priority = priority.rawValue }
      if let poke { $0.poke = Int32(poke.rawValue) }
    }
  }
}
