import BatonProtobuf
import BatonStore
import SwiftProtobuf

extension StoreMove.Progress {
  var proto: Baton_V1_MoveStoreReply {
    .with {
      $0.reached = reached?.proto ?? .unspecified
      $0.table = table
      $0.rows = Int64(rows)
      $0.totalRows = Int64(totalRows)
    }
  }

  init(_ proto: Baton_V1_MoveStoreReply) {
    self.init(
      reached: StoreMove.Step(proto.reached), table: proto.table, rows: Int(clamping: proto.rows),
      totalRows: Int(clamping: proto.totalRows))
  }
}

extension StoreMove.Summary {
  var proto: Baton_V1_MoveSummary {
    .with {
      $0.rows = Int64(rows)
      $0.requests = Int64(requests)
    }
  }

  init(_ proto: Baton_V1_MoveSummary) {
    self.init(requests: Int(clamping: proto.requests), rows: Int(clamping: proto.rows))
  }
}

extension StoreMove.Step {
  var proto: Baton_V1_MoveStep {
    switch self {
    case .copied: .copied
    case .verified: .verified
    case .arrived: .arrived
    case .left: .left
    case .live: .live
    }
  }

  /// `nil` for no step, and for a step that this version does not know.
  init?(_ proto: Baton_V1_MoveStep) {
    switch proto {
    case .copied: self = .copied
    case .verified: self = .verified
    case .arrived: self = .arrived
    case .left: self = .left
    case .live: self = .live
    case .unspecified, .UNRECOGNIZED: return nil
    }
  }
}
