import BatonModel
import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LaunchSubmission {
  func proto(of launch: LaunchKey) -> Baton_V1_LaunchSubmission {
    .with {
      $0.launch = launch.proto
      $0.name = name
      $0.identifier = identifier.rawValue
      if let payload { $0.payload = Data(payload) }
      switch earliestBeginDate {
      case .afterSubmission(let delay): $0.earliestAfter = delay.nanoseconds
      case .at(let date): $0.earliestAt = date.nanoseconds
      case nil: break
      }
      if let priority { $0.priority = priority.name }
      if let parent { $0.traceparent = parent.traceparent }
    }
  }

  init(_ proto: Baton_V1_LaunchSubmission) throws {
    let priority = proto.hasPriority ? Priority(name: proto.priority) : nil
    guard (priority != nil) == proto.hasPriority else {
      throw WireError("'\(proto.priority.escapedOnOneLine)' is not a priority")
    }
    let earliest: EarliestBeginDate? =
      if proto.hasEarliestAt {
        .at(Timestamp(nanoseconds: proto.earliestAt))
      } else {
        proto.hasEarliestAfter ? .afterSubmission(.nanoseconds(proto.earliestAfter)) : nil
      }
    self.init(
      name: proto.name, identifier: try JobIdentifier(wire: proto.identifier),
      payload: proto.hasPayload ? Array(proto.payload) : nil, earliestBeginDate: earliest, priority: priority,
      parent: proto.hasTraceparent ? TraceContext(traceparent: proto.traceparent) : nil)
  }
}

extension LaunchSubmissionAnswer {
  func proto(of launch: LaunchKey, _ name: String) -> Baton_V1_LaunchSubmissionAnswer {
    .with {
      $0.launch = launch.proto
      $0.name = name
      switch self {
      case .accepted(let request):
        $0.identifier = request.identifier.rawValue
        $0.number = Int64(request.number)
        $0.state = request.state.rawValue
        $0.eligibleAt = request.eligibleAt.nanoseconds
        $0.replaced = request.replaced
        $0.isRepeat = request.isRepeat
      case .refused(let code, let message): ($0.code, $0.message) = (code, message)
      }
    }
  }

  init(_ proto: Baton_V1_LaunchSubmissionAnswer) throws {
    if proto.hasCode {
      self = .refused(code: proto.code, message: proto.message)
      return
    }
    guard let state = RequestState(rawValue: proto.state) else {
      throw WireError("'\(proto.state.escapedOnOneLine)' is not the state of a request")
    }
    self = .accepted(
      AcceptedSubmission(
        identifier: try JobIdentifier(wire: proto.identifier), number: Int(proto.number), state: state,
        eligibleAt: Timestamp(nanoseconds: proto.eligibleAt), replaced: proto.replaced,
        isRepeat: proto.isRepeat))
  }
}
