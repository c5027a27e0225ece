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

extension ShardSummary {
  /// The shards in a sentence: `12 of 64 shards done, 8 running on 3 hosts; 8 of 8 lanes in use`.
  var text: String {
    let parts = [
      "\(succeeded) of \(counted(total, "shard")) done",
      running > 0 ? "\(running) running on \(counted(hosts, "host"))" : nil,
      ready > 0 ? "\(ready) ready" : nil, scheduled > 0 ? "\(scheduled) waiting" : nil,
      failed > 0 ? "\(failed) failed" : nil, cancelled > 0 ? "\(cancelled) stopped" : nil,
    ].compactMap { $0 }
    return parts.joined(separator: ", ") + (ended == total ? "" : "; \(lanesText)")
  }

  /// `8 of 8 lanes in use`.
  var lanesText: String { "\(lanesInUse) of \(counted(lanes, "lane")) in use" }

  /// Where the shards run, for a column: the number of hosts.
  var hostsText: String? { running > 0 && hosts != 1 ? counted(hosts, "host") : nil }
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
