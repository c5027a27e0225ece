import BatonModel
import BatonStore
package import BatonTelemetry
import Synchronization

/// What the coordinator counts, and the state that it reports at a scrape.
extension Coordinator {
  /// The gauges and counters of this coordinator, for a registry to collect.
  package func metricFamilies() async -> [MetricFamily] {
    let ((dispatcher, transfers), now) = (state.withLock { ($0.core.dispatcher, $0.transfers) }, now().date)
    let counts = (try? await store.counts()) ?? []
    let oldest = try? await store.oldestReady(of: dispatcher.ready.keys.sorted())
    var gauges = CoordinatorGauges(
      dispatcher, requests: counts, readyOldest: oldest.map { max(.zero, now - $0) })
    let waiting = (try? await store.waitingForKeys(most: Self.countedAtKeys)) ?? [:]
    gauges.obstacles.merge(waiting) { _, count in count }
    gauges.transfers = transfers.stages
    let outbox = (try? await store.notifications(limit: 0)) ?? NotificationList()
    (gauges.waitingNotifications, gauges.failedNotifications) = (outbox.waitingCount, outbox.failedCount)
    await learnSuccesses(counts)
    gauges.sinceSuccess = metrics.lastSuccesses().mapValues { now - $0 }
    return metrics.families(of: gauges)
  }

  /// The most requests that wait for keys which are counted in one scrape.
  private static let countedAtKeys = 10_000

  /// The most definitions whose last success is looked up for one scrape, each with one query.
  private static let successesInScrape = 20

  /// Asks the store when requests succeeded that had ended before this coordinator started.
  private func learnSuccesses(_ counts: [DefinitionCount]) async {
    for pattern in metrics.unknownSuccesses(among: counts, limit: Self.successesInScrape) {
      let filter = RequestFilter(states: [.succeeded], pattern: pattern, isNewestFirst: true)
      // Patterns below this one are definitions of their own.
      let newest = (try? await store.requests(filter, after: nil, limit: 20)) ?? []
      guard let date = (newest.first { $0.pattern == pattern } ?? newest.last)?.endedAt else { continue }
      metrics.requestSucceeded(definition: pattern, at: date)
    }
  }

  /// Counts submissions that were refused.
  func count(_ answers: [SubmissionAnswer]) {
    for case .refused(let refusal) in answers { metrics.submissionsRefused(refusal.kind) }
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
      switch answer.state {
      case .failed:
        metrics.requestFailed(definition: pattern, isQuarantined: launched.outcome.kind != .failed)
      case .succeeded: metrics.requestSucceeded(definition: pattern, at: now().date)
      case .scheduled, .ready, .running, .cancelled: break
      }
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
