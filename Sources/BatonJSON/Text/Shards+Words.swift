import BatonModel
package import BatonStore

extension ShardSummary {
  /// The shards in a sentence: `12 of 64 shards done, 8 running on 3 hosts; 8 of 8 lanes in use`.
  package var text: String {
    let parts = [
      "\(succeeded) of \(counted(total, "shard")) done",
      running > 0 ? "\(running) running on \(counted(hosts, "host"))" : nil,
      ready > 0 ? "\(ready) ready" : nil, scheduled > 0 ? "\(scheduled) waiting" : nil,
      failed > 0 ? "\(failed) failed" : nil, cancelled > 0 ? "\(cancelled) stopped" : nil,
    ].compactMap { $0 }
    return parts.joined(separator: ", ") + (ended == total ? "" : "; \(lanesText)")
  }

  /// `8 of 8 lanes in use`.
  package var lanesText: String { "\(lanesInUse) of \(counted(lanes, "lane")) in use" }

  /// Where the shards run, for a column: the number of hosts.
  package var hostsText: String? { running > 0 && hosts != 1 ? counted(hosts, "host") : nil }
}
