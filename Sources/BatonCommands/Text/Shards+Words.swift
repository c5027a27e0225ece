import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

extension RequestDetails {
  /// The shard whose output a person wants to see first: the last one that failed, otherwise the one that started last.
  var shardOfInterest: Int {
    (launches.last { $0.outcome == .failed } ?? launches.last)?.shard ?? 0
  }
}

/// The rows of `baton show --shards`.
enum ShardTable {
  static let columns: [TablePrinter.Column] = [
    .init("SHARD", isNumber: true), .init("STATE"), .init("UNITS", rank: 3), .init("PROGRESS", isNumber: true),
    .init("BATCHES", isNumber: true, rank: 2), .init("LAUNCHES", isNumber: true, rank: 1), .init("HOST"),
    .init("REASON"),
  ]

  static func row(_ shard: ShardRecord) -> [Cell] {
    [
      Cell(String(shard.index)), Cell(shard.stateText, shard.state.colour), Cell(shard.rangeText ?? "-"),
      Cell(shard.totalUnits.map { "\(shard.completedUnits)/\($0)" } ?? String(shard.completedUnits)),
      Cell(String(shard.batches)), Cell(String(shard.launches)), Cell(shard.host?.rawValue ?? "-"),
      Cell(shard.reason?.lastLine ?? ""),
    ]
  }
}

extension ShardRecord {
  fileprivate var stateText: String { isParked ? "waits for a lane" : state.rawValue }
  /// The first and the last unit, counted from 0.
  fileprivate var rangeText: String? { end.map { "\(first)..<\($0)" } }
}
