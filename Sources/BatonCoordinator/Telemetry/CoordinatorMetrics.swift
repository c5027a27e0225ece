package import BatonModel
package import BatonTelemetry
package import Metrics
internal import Synchronization

/// What a coordinator counts: one method for each fact, to be called once where it happens, after the store has
/// committed it. No call waits for anything.
///
/// A definition is named by its pattern in the YAML, never by an identifier. Definitions beyond 500
/// (Documentation/reference/limits.md) are counted together, as `other`.
package final class CoordinatorMetrics: Sendable {
  private let factory: any MetricsFactory
  private let definitions: Mutex<BoundedLabel>
  private let launchDuration: Timer
  private let resumeDuration: Timer
  private let commitDuration: Timer
  private let commitOperations: Recorder
  private let batches: Counter
  private let batchesRepeated: Counter
  private let checkpointBytes: Recorder
  /// Of launches, as far as they were asked for: finding one in the registry costs more than counting.
  private let launches = Mutex<[LaunchSeries: Counter]>([:])

  private struct LaunchSeries: Hashable {
    var definition: String
    var outcome: LaunchOutcome.Kind
    var reason: String
  }

  /// - Parameters:
  ///   - factory: the process's registry.
  ///   - definitions: how many have series of their own.
  package init(
    factory: any MetricsFactory = MetricsSystem.factory, definitions: Int = MetricSettings().definitions
  ) {
    self.factory = factory
    self.definitions = Mutex(BoundedLabel(limit: definitions))
    launchDuration = Timer(label: Names.Metric.launchDuration, factory: factory)
    resumeDuration = Timer(label: Names.Metric.resumeDuration, factory: factory)
    commitDuration = Timer(label: Names.Metric.commitDuration, factory: factory)
    commitOperations = Recorder(label: Names.Metric.commitOperations, factory: factory)
    batches = Counter(label: Names.Metric.batches, factory: factory)
    batchesRepeated = Counter(label: Names.Metric.batchesRepeated, factory: factory)
    checkpointBytes = Recorder(label: Names.Metric.checkpointBytes, factory: factory)
    // There from the beginning: of a counter that appears with its first drop, no reader sees the drop.
    spansDropped(0, .rejected)
  }

  /// - Parameters:
  ///   - reason: why it was asked to stop; nil for a launch that did not expire.
  ///   - duration: from assignment to outcome.
  package func launchEnded(
    definition: IdentifierPattern, outcome: LaunchOutcome.Kind, reason: ExpiryReason.Kind?, duration: Duration
  ) {
    let reason = outcome == .expired ? reason?.rawValue : nil
    launches(label(for: definition), outcome, reason ?? Names.Label.none).increment()
    launchDuration.recordNanoseconds(duration.nanoseconds)
  }

  /// A request whose launch expired runs again.
  /// - Parameter wait: from the end of that launch to the start of the next one.
  package func resumed(after wait: Duration) { resumeDuration.recordNanoseconds(wait.nanoseconds) }

  /// Checkpoints were committed, each the end of one batch. One that was sent again and had been committed before is
  /// none.
  /// - Parameter bytes: the size of each.
  package func checkpoints(bytes: [Int]) {
    batches.increment(by: bytes.count)
    for size in bytes { checkpointBytes.record(size) }
  }

  /// A batch that had been begun by an earlier launch, which did not come to commit it, was committed.
  package func batchRepeated() { batchesRepeated.increment() }

  /// The store wrote one group.
  /// - Parameter duration: from taking the group to its being on disk.
  package func groupCommit(_ duration: Duration, operations: Int) {
    commitDuration.recordNanoseconds(duration.nanoseconds)
    commitOperations.record(operations)
  }

  /// Spans will never be sent: their rows were marked rejected, or kept for too long.
  package func spansDropped(_ count: Int, _ cause: BatchQueue.Drop) {
    Counter(
      label: Names.Metric.spansDropped, dimensions: [(Names.Label.reason, cause.rawValue)], factory: factory
    ).increment(by: count)
  }

  /// What the gauges show of `gauges`; what a collector of the registry gives.
  package func families(of gauges: CoordinatorGauges) -> [MetricFamily] { gauges.families { label(for: $0) } }

  /// A definition that is new has its counters from now on, so that its first failure is a rise, not a beginning.
  private func label(for definition: IdentifierPattern) -> String {
    let (label, isNew) = definitions.withLock { $0.value(definition.rawValue) }
    guard isNew else { return label }
    for outcome in LaunchOutcome.Kind.allCases where outcome != .expired {
      launches(label, outcome, Names.Label.none).increment(by: 0)
    }
    return label
  }

  private func launches(_ definition: String, _ outcome: LaunchOutcome.Kind, _ reason: String) -> Counter {
    let series = LaunchSeries(definition: definition, outcome: outcome, reason: reason)
    return launches.withLock { known in
      if let counter = known[series] { return counter }
      let dimensions = [
        (Names.Label.definition, definition), (Names.Label.outcome, outcome.rawValue), (Names.Label.reason, reason),
      ]
      let counter = Counter(label: Names.Metric.launches, dimensions: dimensions, factory: factory)
      known[series] = counter
      return counter
    }
  }
}
