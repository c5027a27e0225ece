import BatonCoordinator
import BatonModel
import BatonStore

/// A simulated tracing backend. It loses 30 % of its answers.
extension World {
  func sendSpans() {
    after(.seconds(7), for: .world) { [self] in
      try sendSomeSpans(losingAnswers: draw.chance(30))
      sendSpans()
    }
  }

  @discardableResult
  private func sendSomeSpans(losingAnswers: Bool, isLast: Bool = false) throws -> Bool {
    let steward = ready.first { $0.core.isSteward && !$0.machine.isCutOff && !isStopped($0.owner) }
    guard let sender = isLast ? store : steward?.store else { return false }
    let sources = try store.transaction { try $0.unsentSpans(limit: 50) }
    for source in sources.map(\.spoken) {
      if let sent = journal.sentSpans[source.key] {
        try journal.expect(sent == source, .span, "the spans of \(source.key) were sent, and are others now")
      }
      journal.sentSpans[source.key] = source
    }
    guard !losingAnswers else { return !sources.isEmpty }
    // If another coordinator keeps house since, it sends the spans again.
    if let steward, isShared, !isLast {
      steward.writer.write(.ordinary) {
        try $0.confirmSpans(sources.map(\.key))
      } then: { _ in
      }
    } else {
      try sender.transaction { try $0.confirmSpans(sources.map(\.key)) }
    }
    return !sources.isEmpty
  }

  /// Checks that every launch of a sampled request has its span in the backend, with its outcome.
  func auditSpans(_ launches: [LaunchRecord], _ records: [RequestRecord]) throws {
    while try sendSomeSpans(losingAnswers: false, isLast: true) {}
    let sampled = Set(records.filter(\.trace.isSampled).map(\.id))
    var outcomes: [LaunchKey: [LaunchOutcome.Kind?]] = [:]
    for (key, source) in journal.sentSpans where key.parts.contains(.launch) {
      outcomes[LaunchKey(request: key.request, number: key.launch), default: []].append(source.launch?.record.outcome)
    }
    for launch in launches {
      let head = journal.requests[launch.launch.request]?.head ?? launch.launch.request
      guard sampled.contains(head) else { continue }
      try journal.expect(
        outcomes[launch.launch] == [launch.outcome], .span,
        "launch \(launch.launch) ended \(launch.outcome?.rawValue ?? "never"), and its span says \(outcomes[launch.launch] ?? [])"
      )
    }
  }
}

extension SpanSource {
  /// The source without the values that its spans do not contain. A wait that is over does not contain the end of the
  /// launch that ended the wait.
  fileprivate var spoken: SpanSource {
    guard !key.parts.contains(.launch), var launch else { return self }
    let record = launch.record
    launch.record = LaunchRecord(
      launch: record.launch, host: record.host, startedAt: record.startedAt, isGraceful: true,
      firstBatch: record.firstBatch, batches: 0, spanID: record.spanID)
    launch.errorType = nil
    var source = self
    source.launch = launch
    source.launchEvents = []
    return source
  }
}
