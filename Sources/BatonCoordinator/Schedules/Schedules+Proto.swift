import BatonModel
import BatonProtobuf
import BatonWire
import SwiftProtobuf

extension SchedulePause {
  var proto: Baton_V1_SchedulePause {
    .with {
      $0.by = by
      $0.since = since.nanoseconds
      $0.reason = reason
    }
  }

  init(_ proto: Baton_V1_SchedulePause) {
    self.init(by: proto.by, since: Timestamp(nanoseconds: proto.since), reason: proto.reason)
  }
}

extension Backfill {
  var proto: Baton_V1_BackfillState {
    .with {
      $0.by = by
      $0.startedAt = startedAt.nanoseconds
      $0.from = from.nanoseconds
      $0.until = until.nanoseconds
      if let after { $0.after = after.nanoseconds }
      $0.made = Int64(made)
      $0.total = Int64(total)
    }
  }

  init(_ proto: Baton_V1_BackfillState) {
    self.init(
      by: proto.by, startedAt: Timestamp(nanoseconds: proto.startedAt), from: Timestamp(nanoseconds: proto.from),
      until: Timestamp(nanoseconds: proto.until),
      after: proto.hasAfter ? Timestamp(nanoseconds: proto.after) : nil, made: Int(clamping: proto.made),
      total: Int(clamping: proto.total))
  }
}

extension ChangedSchedule {
  var proto: Baton_V1_SetSchedulesReply.Schedule {
    .with {
      $0.identifier = identifier.rawValue
      $0.pause = pause.proto
    }
  }

  init(_ proto: Baton_V1_SetSchedulesReply.Schedule) throws {
    self.init(identifier: try JobIdentifier(wire: proto.identifier), pause: SchedulePause(proto.pause))
  }
}

extension BackfillPlan {
  var proto: Baton_V1_BackfillReply {
    .with {
      $0.count = Int64(count)
      $0.first = first.nanoseconds
      $0.last = last.nanoseconds
    }
  }

  init(_ proto: Baton_V1_BackfillReply) {
    self.init(
      count: Int(clamping: proto.count), first: Timestamp(nanoseconds: proto.first),
      last: Timestamp(nanoseconds: proto.last))
  }
}
