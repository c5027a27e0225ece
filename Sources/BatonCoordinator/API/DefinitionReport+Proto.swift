import BatonModel
import BatonProtobuf
import BatonWire
import SwiftProtobuf

extension DefinitionReport {
  var proto: Baton_V1_DefinitionsReply.Applied {
    get throws {
      let json = try definition.json()
      return .with {
        $0.json = json
        $0.appliedAt = appliedAt.nanoseconds
        if let problem { $0.problem = problem }
        if let usualBatch { $0.usualBatch = usualBatch.nanoseconds }
        if let used { $0.used = used.nanoseconds }
        if let pause = standing.pause { $0.pause = pause.proto }
        if let backfill = standing.backfill { $0.backfill = backfill.proto }
        $0.counts = RequestState.allCases.compactMap { state in
          counts[state].map { count in
            .with {
              $0.state = state.rawValue
              $0.count = Int64(count)
            }
          }
        }
      }
    }
  }

  /// States that a newer coordinator has and this version does not know are left out.
  init(_ proto: Baton_V1_DefinitionsReply.Applied) throws {
    let counts = proto.counts.compactMap { one in
      RequestState(rawValue: one.state).map { ($0, Int(clamping: one.count)) }
    }
    self.init(
      definition: try Definition(json: proto.json), appliedAt: Timestamp(nanoseconds: proto.appliedAt),
      problem: proto.hasProblem ? proto.problem : nil,
      counts: Dictionary(counts, uniquingKeysWith: { first, _ in first }),
      usualBatch: proto.hasUsualBatch ? .nanoseconds(proto.usualBatch) : nil,
      used: proto.hasUsed ? .nanoseconds(proto.used) : nil)
    standing = ScheduleStanding(
      pause: proto.hasPause ? SchedulePause(proto.pause) : nil,
      backfill: proto.hasBackfill ? Backfill(proto.backfill) : nil)
  }
}
