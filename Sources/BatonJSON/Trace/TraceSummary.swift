import BatonCoordinator
package import BatonModel
package import BatonTelemetry

/// Where the time of a request went, as a value: the answer to the question why it was slow.
package struct TraceSummary: Hashable, Sendable {
  /// For how long one obstacle held the request.
  package struct Share: Hashable, Sendable {
    /// The code of an `Obstacle`.
    package var code: String
    package var time: Duration
    /// The first few hosts that could otherwise have taken the request and that had this obstacle; empty for obstacles
    /// that are not those of a host.
    package var hosts: [String] = []
    /// The largest number of hosts with this obstacle at one time, the named hosts included.
    package var hostCount = 0
  }

  /// How many launches ended in the same way. Finished launches are not counted.
  package struct Ending: Hashable, Sendable {
    package var outcome: LaunchOutcome.Kind
    /// The code of the `ExpiryReason`; `nil` for other outcomes.
    package var reason: String?
    package var count: Int
  }

  package var state: RequestState
  /// Whether a span is still open: then the durations still grow.
  package var isOpen: Bool
  package var submittedAt: Timestamp
  /// `nil` while the request has not ended.
  package var endedAt: Timestamp?
  /// The time from the submission to the end, or to when the trace was read: the sum of the next four.
  package var total: Duration
  package var scheduled: Duration
  package var waiting: Duration
  package var running: Duration
  /// The time between an end of the request and the retry that an operator asked for.
  package var ended: Duration
  /// The obstacles that make up `scheduled`, the longest first.
  package var causes: [Share]
  /// The obstacles that make up `waiting`, the longest first. Obstacles at the same time count each, so together they
  /// may be longer than `waiting`.
  package var obstacles: [Share]
  /// The part of `waiting` in which no obstacle is known.
  package var unexplained: Duration
  /// Whether a part of the obstacles of a wait was lost, by a restart of the coordinator or because there were too
  /// many changes.
  package var isHistoryLost: Bool
  package var launches: Int
  /// The hosts of the launches, each once, in the order of the launches.
  package var hosts: [String]
  /// How launches ended that did not finish, the most frequent ending first.
  package var endings: [Ending]
  /// The number of batches that all launches committed.
  package var batches: Int
  /// Indexes of the batches that an operator passed over, in order.
  package var skippedBatches: [Int]

  package init(_ trace: RequestTrace) { self.init(trace, TraceTimeline(trace)) }

  package init(_ trace: RequestTrace, _ timeline: TraceTimeline) {
    (state, isOpen, submittedAt) = (trace.state, !trace.open.isEmpty, timeline.whole.from)
    endedAt = trace.state.isEnded ? timeline.whole.to : nil
    (total, scheduled) = (timeline.whole.duration, timeline.duration(.scheduled))
    (waiting, running) = (timeline.duration(.waiting), timeline.duration(.running))
    ended = timeline.duration(.ended)
    causes = timeline.causes
    let waits = trace.spans(.wait).map(WaitObstacleTimes.init)
    obstacles = waits.shares
    unexplained = max(.zero, waiting - waits.flatMap { $0.times.values.joined() }.duration)
    isHistoryLost = waits.contains(where: \.isHistoryLost)
    let launches = trace.spans(.launch)
    self.launches = launches.count
    skippedBatches = trace.spans.flatMap(\.skippedBatches).sorted()
    hosts = launches.compactMap { $0.text(Names.Attribute.host) }.unique
    endings = launches.compactMap(\.ending).tallied
    batches = launches.compactMap { $0.number(Names.Attribute.batches) }.reduce(0) { sum, batches in
      // A coordinator may answer any numbers: a sum that overflows must not end the process.
      sum.addingReportingOverflow(batches).overflow ? sum : sum + batches
    }
  }
}

/// At which times each obstacle was there during one wait.
package struct WaitObstacleTimes: Sendable {
  /// The times of each obstacle by its code, in order and without overlaps.
  package let times: [String: [Interval]]
  /// The hosts of each obstacle by its code: the names when the obstacle first came, and the largest number of hosts.
  package let hosts: [String: (names: [String], count: Int)]
  package let isHistoryLost: Bool

  package init(_ wait: SpanRecord) {
    let whole = Interval(from: wait.start, to: wait.end)
    var since: [String: Timestamp] = [:]
    var found: [String: [Interval]] = [:]
    for event in wait.events {
      guard case .string(let code) = event.attributes[Names.Attribute.obstacle] else { continue }
      switch event.name {
      case Names.Event.obstacleCame: since[code] = since[code] ?? event.time
      case Names.Event.obstacleWent:
        // An obstacle that went without having come was there when the recording began.
        let from = since.removeValue(forKey: code) ?? wait.start
        found[code, default: []].append(Interval(from: from, to: event.time).clipped(to: whole))
      default: continue
      }
    }
    for (code, from) in since { found[code, default: []].append(Interval(from: from, to: wait.end).clipped(to: whole)) }
    times = found.mapValues(\.merged)
    hosts = wait.events.reduce(into: [:]) { hosts, event in
      guard case .string(let code) = event.attributes[Names.Attribute.obstacle],
        case .strings(let names) = event.attributes[Names.Attribute.obstacleHosts]
      else { return }
      var count = names.count
      if case .int(let number) = event.attributes[Names.Attribute.obstacleHostCount] { count = Int(clamping: number) }
      hosts[code] = (hosts[code]?.names ?? names, max(hosts[code]?.count ?? 0, count))
    }
    isHistoryLost = wait.truth(Names.Attribute.historyLost) ?? false
  }

  /// The codes of the obstacles, the longest first.
  package var codes: [String] {
    times.sorted { ($1.value.duration, $0.key) < ($0.value.duration, $1.key) }.map(\.key)
  }
}

extension [WaitObstacleTimes] {
  fileprivate var shares: [TraceSummary.Share] {
    let sums = reduce(into: [String: Duration]()) { sums, wait in
      for (code, times) in wait.times { sums[code, default: .zero] += times.duration }
    }
    return sums.shares.map { share in
      var share = share
      let named = lazy.compactMap { $0.hosts[share.code] }
      share.hosts = named.first?.names ?? []
      share.hostCount = named.map(\.count).max() ?? 0
      return share
    }
  }
}

extension [String: Duration] {
  fileprivate var shares: [TraceSummary.Share] {
    map { TraceSummary.Share(code: $0.key, time: $0.value) }.sorted { ($1.time, $0.code) < ($0.time, $1.code) }
  }
}

extension TraceTimeline {
  fileprivate var causes: [TraceSummary.Share] {
    segments.reduce(into: [String: Duration]()) { sums, segment in
      if let cause = segment.cause { sums[cause, default: .zero] += segment.time.duration }
    }.shares
  }
}

extension SpanRecord {
  fileprivate var skippedBatches: [Int] {
    events.filter { $0.name == Names.Event.history(RequestEvent.skippedBatch.rawValue) }.compactMap { event in
      guard case .string(let batch) = event.attributes[Names.Attribute.detail] else { return nil }
      return Int(batch)
    }
  }

  /// How the launch ended; `nil` while it runs, and if it finished.
  package var ending: TraceSummary.Ending? {
    guard let outcome, outcome != .finished else { return nil }
    let reason = outcome == .expired ? text(Names.Attribute.expiryReason) : nil
    return TraceSummary.Ending(outcome: outcome, reason: reason, count: 1)
  }
}

extension [TraceSummary.Ending] {
  /// Equal endings as one with their count, the most frequent first.
  package var tallied: [TraceSummary.Ending] {
    var counts: [TraceSummary.Ending: Int] = [:]
    for ending in self { counts[ending, default: 0] += 1 }
    return counts.map { TraceSummary.Ending(outcome: $0.outcome, reason: $0.reason, count: $1) }
      .sorted { ($1.count, $0.words) < ($0.count, $1.words) }
  }
}

extension TraceSummary.Ending {
  /// Outcome and reason: `expired powerLost`.
  package var words: String { outcome.rawValue + (reason.map { " \($0)" } ?? "") }
}
