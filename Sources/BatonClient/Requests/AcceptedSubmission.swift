import BatonProtobuf
import BatonWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The coordinator's answer to a submission that it has accepted. The request is stored durably.
public struct AcceptedSubmission: Hashable, Sendable {
  /// The request that was made, or that the submission has joined or replaced.
  public let request: JobRequest.Name
  /// The state of the request.
  public let state: JobRequest.State
  /// Before when it does not start; `nil` if it waits for an event and not for a time.
  public let eligibleAt: Date?
  /// Whether the submission has replaced what an earlier one, whose request had not started yet, asked for.
  public let hasReplaced: Bool
  /// The id of the request's trace: 32 hexadecimal digits.
  public let traceID: String
  /// Why no known host could run the request now; `nil` if one could.
  public let warning: String?
}

extension AcceptedSubmission {
  init(_ proto: Baton_V1_SubmitReply.Accepted) throws {
    guard let state = JobRequest.State(rawValue: proto.state) else { throw WireError("unknown state '\(proto.state)'") }
    self.init(
      request: JobRequest.Name(proto.identifier, number: Int(proto.number)), state: state,
      eligibleAt: Date(eligible: proto.eligibleAt), hasReplaced: proto.replaced, traceID: proto.traceID,
      warning: proto.hasWarning ? proto.warning : nil)
  }
}

/// What a cancellation has done to one request.
public struct CancelledRequest: Hashable, Sendable {
  /// The request.
  public let request: JobRequest.Name
  /// The host on which a launch is still stopping; it has until the end of its closing window. `nil` if the request has
  /// ended.
  public let stoppingOn: String?
}
