public import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One launch of a request, as its handler sees it.
///
/// Returning from the handler is completion, throwing is failure. Expiry is task cancellation: `expiry` then says why
/// and until when. Work that was checkpointed is never repeated; at most the batch after the last checkpoint is.
public struct JobTask: Sendable {
  public let identifier: JobIdentifier
  /// The request's number within its identifier.
  public let request: Int
  /// 1 at the first launch; above 1 the request goes on from its last checkpoint.
  public let launch: Int
  public let kind: JobKind
  /// What the `*` of the definition's identifier matched.
  public let wildcard: String?
  /// Who submitted the request.
  public let principal: String
  /// What was submitted with the request, at most 64 KiB.
  public let payload: [UInt8]?

  /// The GPUs that the launch holds, by what their drivers call them: NVIDIA's UUIDs, such as `GPU-8f2…`. Use no others.
  public let gpus: [String]

  package let runtime: any LaunchRuntime

  /// - Parameter gpus: what the drivers call the GPUs that the launch holds.
  package init(
    _ assignment: Assignment, _ definition: Definition, gpus: [String] = [], _ runtime: any LaunchRuntime
  ) {
    identifier = assignment.identifier
    request = assignment.requestNumber
    launch = assignment.launch.number
    kind = definition.kind
    wildcard = definition.pattern.wildcardValue(in: assignment.identifier)
    principal = assignment.principal
    payload = assignment.payload
    self.gpus = gpus
    self.runtime = runtime
  }

  /// Why this launch has to stop, and until when; nil while it may go on.
  public var expiry: Expiry? { runtime.expiry }

  /// What the last durable checkpoint says.
  public var progress: JobProgress {
    let progress = runtime.progress
    return JobProgress(completedUnits: progress.completedUnits, totalUnits: progress.totalUnits)
  }

  /// The payload, decoded from JSON.
  /// - Throws: `HandlerError` with code `.noPayload`, or what `JSONDecoder` says of it.
  public func payload<Value: Decodable>(as type: Value.Type) throws -> Value {
    guard let payload else {
      throw HandlerError(.noPayload, "request \(request) of \(identifier) was submitted without a payload")
    }
    return try JSONDecoder().decode(type, from: Data(payload))
  }

  /// Shows other texts to watchers, within a second. It is live only: a checkpoint makes a subtitle durable.
  public func update(title: String? = nil, subtitle: String? = nil) {
    runtime.update(title: title, subtitle: subtitle, completedUnits: nil, totalUnits: nil)
  }

  /// Shows progress between checkpoints to watchers, within a second.
  public func report(completed: Int64, of total: Int64? = nil) {
    runtime.update(title: nil, subtitle: nil, completedUnits: completed, totalUnits: total)
  }
}

/// Why a launch has to stop, and until when.
public struct Expiry: Hashable, Sendable {
  public var reason: ExpiryReason
  /// What still runs then is ended: a command by SIGKILL, a Swift handler with its worker's process.
  public var deadline: ContinuousClock.Instant

  public init(reason: ExpiryReason, deadline: ContinuousClock.Instant) {
    self.reason = reason
    self.deadline = deadline
  }
}

public struct JobProgress: Hashable, Sendable {
  public var completedUnits: Int64
  /// Nil until it is known.
  public var totalUnits: Int64?

  public init(completedUnits: Int64, totalUnits: Int64? = nil) {
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
  }
}
