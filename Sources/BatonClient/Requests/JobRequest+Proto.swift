import BatonModel
import BatonProtobuf
import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension JobRequest {
  /// - Throws: `WireError` if the coordinator says what this version does not know.
  init(_ proto: Baton_V1_Request) throws {
    guard let kind = JobKind(rawValue: proto.kind), let state = State(rawValue: proto.state),
      let priority = Priority(rawValue: proto.priority), let trace = TraceContext(traceparent: proto.traceparent)
    else { throw WireError("request \(proto.id) has a kind, state or priority that this version does not know") }
    self.init(
      name: Name(proto.identifier, number: Int(proto.number)), state: state, kind: kind,
      title: proto.hasTitle ? proto.title : nil, subtitle: proto.hasSubtitle ? proto.subtitle : nil,
      priority: priority, submittedAt: Date(nanoseconds: proto.submittedAt), submitter: proto.principal,
      eligibleAt: Date(eligible: proto.eligibleAt), launches: Int(proto.launches),
      batches: Int(proto.batches), completedUnits: proto.completedUnits,
      totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil, host: proto.hasHost ? proto.host : nil,
      startedAt: proto.hasStartedAt ? Date(nanoseconds: proto.startedAt) : nil,
      endedAt: proto.hasEndedAt ? Date(nanoseconds: proto.endedAt) : nil,
      waitsFor: proto.hasWaitsBecause ? proto.waitsBecause.code : nil, reason: proto.hasReason ? proto.reason : nil,
      result: proto.hasResult ? Array(proto.result) : nil, traceID: trace.traceID.description, id: proto.id)
  }
}

extension Date {
  /// - Parameter nanoseconds: since 1970 UTC.
  init(nanoseconds: Int64) { self.init(timeIntervalSince1970: Double(nanoseconds) / 1e9) }

  /// A time before which nothing starts. `nil` for the time that stands for an event.
  init?(eligible nanoseconds: Int64) {
    guard nanoseconds != Timestamp.distantFuture.nanoseconds else { return nil }
    self.init(nanoseconds: nanoseconds)
  }

  /// Nanoseconds since 1970 UTC. The result saturates.
  var nanoseconds: Int64 {
    let nanoseconds = (timeIntervalSince1970 * 1e9).rounded()
    return nanoseconds < -0x1p63 ? .min : nanoseconds >= 0x1p63 ? .max : Int64(nanoseconds)
  }
}
