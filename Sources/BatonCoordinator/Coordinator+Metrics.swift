import BatonModel
import BatonStore
package import BatonTelemetry
import Synchronization

/// What the coordinator counts, and the state that it reports at a scrape.
extension Coordinator {
  /// The gauges and counters of this coordinator, for a registry to collect.
  package func metricFamilies() async -> [MetricFamily] {
    let (dispatcher, now) = (state.withLock { $0.core.dispatcher }, now().date)
    let counts = (try? await store.counts()) ?? []
    let oldest = try? await store.oldestReady(of: dispatcher.ready.keys.sorted())
    let gauges = CoordinatorGauges(
      dispatcher, requests: counts, readyOldest: oldest.map { max(.zero, now - $0) })
    return metrics.families(of: gauges)
  }

  func count(_ answers: [EndingAnswer]) {
    let patterns = state.withLock { state in
      answers.map { state.core.dispatcher.definitions[$0.requirementClass.definition]?.pattern }
    }
    for (answer, pattern) in zip(answers, patterns) {
      guard let launched = answer.launched, let pattern else { continue }
      metrics.launchEnded(
        definition: pattern, outcome: launched.outcome.kind, reason: launched.outcome.reason?.kind,
        duration: launched.duration)
      // The launch ended in the middle of a batch that will not be committed. The next launch repeats this batch.
      if !answer.state.isEnded, !launched.isGraceful || launched.outcome.isBroken { metrics.batchRepeated() }
    }
  }

  func count(_ launches: [Assignment]) {
    for launch in launches { launch.resumedAfter.map(metrics.resumed(after:)) }
  }

  func count(_ checkpoints: [Checkpoint], _ answers: [CheckpointAnswer]) {
    metrics.checkpoints(
      bytes: zip(checkpoints, answers).compactMap { checkpoint, answer in
        if case .committed = answer, !checkpoint.isEndOnly { checkpoint.cursor?.count ?? 0 } else { nil }
      })
  }
}

extension LaunchOutcome {
  fileprivate var isBroken: Bool {
    switch self {
    case .failed, .lost: true
    case .finished, .expired: false
    }
  }
}
