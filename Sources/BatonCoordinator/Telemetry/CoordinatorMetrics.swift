package import BatonModel
package import BatonStore
package import BatonTelemetry
package import Metrics
internal import Synchronization

/// The metrics of a coordinator. It has one method for each fact, which is called once when the fact occurs, after the
/// store has committed it. No call blocks.
///
/// The label of a definition is its pattern in the YAML, never an identifier. Definitions beyond 500
/// (Documentation/reference/limits.md) are counted together, as `other`; so are hosts beyond 500.
package final class CoordinatorMetrics: Sendable {
  private let factory: any MetricsFactory
  private let definitions: Mutex<BoundedLabel>
  private let hosts: Mutex<BoundedLabel>
  private let successes = Mutex(Successes())
  private let launchDuration: Timer
  private let resumeDuration: Timer
  private let commitDuration: Timer
  private let commitOperations: Recorder
  private let batches: Counter
  private let batchesRepeated: Counter
  private let checkpointBytes: Recorder
  private let transferReceived: Counter
  private let transferSent: Counter
  /// The counters of launches that were used so far. Looking a counter up in the registry costs more than counting.
  private let launches = Mutex<[LaunchSeries: Counter]>([:])

  private struct LaunchSeries: Hashable {
    var definition: String
    var outcome: LaunchOutcome.Kind
    var reason: String
  }

  /// - Parameters:
  ///   - factory: the registry of the process.
  ///   - definitions: how many definitions have series of their own.
  package init(
    factory: any MetricsFactory = MetricsSystem.factory, definitions: Int = MetricSettings().definitions
  ) {
    self.factory = factory
    self.definitions = Mutex(BoundedLabel(limit: definitions))
    hosts = Mutex(BoundedLabel(limit: definitions))
    launchDuration = Timer(label: Names.Metric.launchDuration, factory: factory)
    resumeDuration = Timer(label: Names.Metric.resumeDuration, factory: factory)
    commitDuration = Timer(label: Names.Metric.commitDuration, factory: factory)
    commitOperations = Recorder(label: Names.Metric.commitOperations, factory: factory)
    batches = Counter(label: Names.Metric.batches, factory: factory)
    batchesRepeated = Counter(label: Names.Metric.batchesRepeated, factory: factory)
    checkpointBytes = Recorder(label: Names.Metric.checkpointBytes, factory: factory)
    transferReceived = Counter(label: Names.Metric.transferReceived, factory: factory)
    transferSent = Counter(label: Names.Metric.transferSent, factory: factory)
    // The counter exists from the start. If it appeared with the first drop, a reader could not see the increase.
    spansDropped(0, .rejected)
    notificationsSent(0)
    notificationsFailed(0)
    for code in Refusal.Kind.allCases { submissionsRefused(code, count: 0) }
    for end in [TransferEnd.cancelled.word, Self.done] { transfersEnded(end, Names.Label.none, count: 0) }
    for code in TransferFailure.Code.allCases { transfersEnded(Names.Label.failed, code.rawValue, count: 0) }
  }

  private static let done = TransferEnd.done(TransferredFile(path: "", bytes: 0, sha256: "")).word

  /// A transfer has ended.
  /// - Parameter bytes: how many bytes had arrived, or had been sent.
  package func transferEnded(_ end: TransferEnd, _ method: Transfer.Method, bytes: Int64) {
    if case .failed(let failure) = end {
      transfersEnded(end.word, failure.code.rawValue)
    } else {
      transfersEnded(end.word, Names.Label.none)
    }
    (method == .get ? transferReceived : transferSent).increment(by: bytes)
  }

  private func transfersEnded(_ outcome: String, _ reason: String, count: Int = 1) {
    Counter(
      label: Names.Metric.transfersEnded,
      dimensions: [(Names.Label.outcome, outcome), (Names.Label.reason, reason)], factory: factory
    ).increment(by: count)
  }

  /// Submissions were refused.
  package func submissionsRefused(_ code: Refusal.Kind, count: Int = 1) {
    Counter(
      label: Names.Metric.submissionsRefused, dimensions: [(Names.Label.code, code.rawValue)], factory: factory
    ).increment(by: count)
  }

  /// A request has failed for good.
  /// - Parameter isQuarantined: whether it failed because too many launches in a row committed nothing.
  package func requestFailed(definition: IdentifierPattern, isQuarantined: Bool) {
    failures(label(for: definition), isQuarantined: isQuarantined).increment()
  }

  private func failures(_ definition: String, isQuarantined: Bool) -> Counter {
    let reason = isQuarantined ? Names.Label.quarantined : Names.Label.failed
    return Counter(
      label: Names.Metric.requestsFailed,
      dimensions: [(Names.Label.definition, definition), (Names.Label.reason, reason)], factory: factory)
  }

  /// A request of the definition has succeeded.
  package func requestSucceeded(definition: IdentifierPattern, at date: Timestamp) {
    successes.withLock { $0.note(definition, date) }
  }

  /// The definitions that have requests which succeeded, and of which it is not known when that was: a coordinator that
  /// has just started asks the store. At most `limit` are returned, so that no scrape takes long.
  package func unknownSuccesses(among counts: [DefinitionCount], limit: Int) -> [IdentifierPattern] {
    let succeeded = counts.filter { $0.state == .succeeded && $0.count > 0 }.map(\.pattern)
    return successes.withLock { known in Array(succeeded.filter { known.dates[$0] == nil }.prefix(limit)) }
  }

  /// When a request of each of these definitions succeeded last.
  package func lastSuccesses() -> [IdentifierPattern: Timestamp] { successes.withLock { $0.dates } }

  /// A launch has ended.
  /// - Parameters:
  ///   - reason: why the launch was asked to stop; nil if it did not expire.
  ///   - duration: the time from the assignment to the outcome.
  package func launchEnded(
    definition: IdentifierPattern, outcome: LaunchOutcome.Kind, reason: ExpiryReason.Kind?, duration: Duration
  ) {
    let reason = outcome == .expired ? reason?.rawValue : nil
    launches(label(for: definition), outcome, reason ?? Names.Label.none).increment()
    launchDuration.recordNanoseconds(duration.nanoseconds)
  }

  /// A request whose launch expired runs again.
  /// - Parameter wait: the time from the end of that launch to the start of the next launch.
  package func resumed(after wait: Duration) { resumeDuration.recordNanoseconds(wait.nanoseconds) }

  /// Checkpoints were committed, each at the end of one batch. Do not count a checkpoint that was committed before and
  /// was sent again.
  /// - Parameter bytes: the size of each cursor.
  package func checkpoints(bytes: [Int]) {
    batches.increment(by: bytes.count)
    for size in bytes { checkpointBytes.record(size) }
  }

  /// A launch ended in the middle of a batch, which the next launch of the request repeats.
  package func batchRepeated() { batchesRepeated.increment() }

  /// The store has committed one write group.
  /// - Parameter duration: the time from taking the group until it is on the disk.
  package func groupCommit(_ duration: Duration, operations: Int) {
    commitDuration.recordNanoseconds(duration.nanoseconds)
    commitOperations.record(operations)
  }

  /// Spans will never be sent, because the backend rejected them or they were kept for too long.
  package func spansDropped(_ count: Int, _ cause: BatchQueue.Drop) {
    Counter(
      label: Names.Metric.spansDropped, dimensions: [(Names.Label.reason, cause.rawValue)], factory: factory
    ).increment(by: count)
  }

  /// Receivers have taken notifications.
  package func notificationsSent(_ count: Int) { notificationsEnded(Names.Label.sent, count) }
  /// Notifications have failed for good.
  package func notificationsFailed(_ count: Int) { notificationsEnded(Names.Label.failed, count) }

  private func notificationsEnded(_ outcome: String, _ count: Int) {
    Counter(
      label: Names.Metric.notificationsEnded, dimensions: [(Names.Label.outcome, outcome)], factory: factory
    ).increment(by: count)
  }

  /// The metric families of `gauges`, for a collector of the registry.
  package func families(of gauges: CoordinatorGauges) -> [MetricFamily] {
    gauges.families {
      label(for: $0)
    } hostLabel: { host in
      hosts.withLock { $0.value(host.rawValue).value }
    }
  }

  /// The label of a definition. The counters of a new definition are created here, so that its first failure is an
  /// increase from 0.
  private func label(for definition: IdentifierPattern) -> String {
    let (label, isNew) = definitions.withLock { $0.value(definition.rawValue) }
    guard isNew else { return label }
    for outcome in LaunchOutcome.Kind.allCases where outcome != .expired {
      launches(label, outcome, Names.Label.none).increment(by: 0)
    }
    for isQuarantined in [false, true] { failures(label, isQuarantined: isQuarantined).increment(by: 0) }
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

/// When a request of each definition succeeded last.
private struct Successes {
  /// The most definitions that are remembered.
  private static let most = 10_000

  private(set) var dates: [IdentifierPattern: Timestamp] = [:]

  mutating func note(_ pattern: IdentifierPattern, _ date: Timestamp) {
    guard dates[pattern] != nil || dates.count < Self.most else { return }
    dates[pattern] = max(dates[pattern] ?? date, date)
  }
}
