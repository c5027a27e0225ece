import BatonBase
package import BatonModel
package import BatonStore

extension RequestRecord {
  /// What the request does now, or why it does not run, without its name: `running on alpha, launch 2`.
  package func standing(at now: Timestamp) -> String {
    switch state {
    case .scheduled: "scheduled: " + waiting(at: now)
    case .ready: "ready: waits for a host" + (shards.map { "; \($0.text)" } ?? lastLaunch)
    case .running:
      shards.map { "running: \($0.text)" }
        ?? "running on \(host?.rawValue.onOneLine ?? "a host"), launch \(launches)"
        + (hostAway.map { "; \($0.text(at: now))" } ?? "")
    case .succeeded: "succeeded" + duration + (finding.map { ": \($0)" } ?? "") + (skippedText.map { ", \($0)" } ?? "")
    case .failed: "failed: \((reason ?? "it gave no reason").lastLine)"
    case .cancelled: "cancelled" + (reason.map { (isCancelledByFlow ? ": " : " by ") + $0.onOneLine } ?? "")
    }
  }

  /// What a refresh found, `newData` or `noData`; `nil` if it has not succeeded, or did not say.
  package var finding: String? { state == .succeeded ? reason?.onOneLine : nil }

  private func waiting(at now: Timestamp) -> String {
    let reason = waitsBecause?.text ?? "its time has not come"
    return eligibleAt == .distantFuture ? reason : "\(reason); eligible \(eligibleAt.dated(from: now))"
  }

  private var lastLaunch: String {
    guard launches > 0, let outcome else { return "" }
    return " (launch \(launches): \(outcome.onOneLine)\(reason.map { ", \($0.lastLine)" } ?? ""))"
  }

  private var duration: String {
    guard let startedAt, let endedAt else { return "" }
    return " after \((endedAt - startedAt).magnitude.inWords)"
  }

  /// The share that is done, from 0 to 1; `nil` while the total is unknown.
  package var fraction: Double? {
    if state == .succeeded, skippedUnits == 0 { return 1 }
    guard let total = totalUnits, total > 0 else { return nil }
    return min(1, max(0, Double(doneUnits) / Double(total)))
  }

  /// The share that is done in whole per cent, rounded down: 100 only if everything is done.
  package var percent: Int? { fraction.map { Int($0 * 100) } }

  /// The progress for a table: `120/247 48%`, `120`, or `-` before anything is known.
  package var progressText: String {
    if let total = totalUnits { return "\(doneUnits)/\(total)" + (percent.map { " \($0)%" } ?? "") }
    return doneUnits > 0 ? String(doneUnits) : "-"
  }

  /// The units done for a sentence: `120 of 247`, or `120` while the total is unknown.
  package var unitsText: String {
    totalUnits.map { "\(doneUnits) of \($0)" } ?? String(doneUnits)
  }

  /// `batch 3 skipped`, or `batches 3, 7 skipped`, or `batch 1 of shard 4 skipped`; `nil` if no batch was skipped.
  package var skippedText: String? {
    guard !skippedBatches.isEmpty else { return nil }
    guard skippedShards.count == skippedBatches.count else { return Self.skipped(skippedBatches.map(String.init)) }
    return Self.skipped(zip(skippedBatches, skippedShards).map { "\($0) of shard \($1)" })
  }

  /// Title and subtitle, such as `Exporting photos: IMG_0120.jpg`; either may be missing.
  package var titles: String { [title, subtitle].compactMap { $0?.onOneLine }.joined(separator: ": ") }

  /// What to do about a request that did not succeed, one line for each way; empty for all other requests.
  package var advice: [String] {
    switch state {
    case .failed:
      [
        "look at its output: baton logs \(name.arguments)",
        "go on at its checkpoint: baton retry \(name.arguments)",
        "if you have repaired its file: baton apply FILE, then baton retry \(name.arguments) --with-new-definition",
      ]
    case .cancelled where isCancelledByFlow:
      [
        "it waits again when the job of its flow that has failed is retried",
        "or submit it by itself: baton submit \(identifier)",
      ]
    case .cancelled: ["submit it again: baton submit \(identifier)"]
    case .scheduled, .ready, .running, .succeeded: []
    }
  }
}

extension HostAway {
  /// `its host is away since 06:28:11 UTC (2m 3s ago), its lease lasts until 06:30:41 UTC (in 27s)`. A lease lasts for
  /// an hour at most.
  package func text(at now: Timestamp) -> String {
    func time(_ date: Timestamp) -> String { "\(date.utc.dropFirst(11).prefix(8)) UTC (\(date.relative(to: now)))" }
    return "its host is away since \(time(since)), its lease lasts until \(time(leaseUntil))"
  }
}
