import BatonModel
import BatonTelemetry

/// Where the time of a request went: the answer to "why was it slow?", as a value.
struct TraceSummary: Hashable, Sendable {
  /// How long one thing held the request.
  struct Share: Hashable, Sendable {
    /// The code of an `Obstacle`.
    var code: String
    var time: Duration
    /// Of the hosts that could have taken it, the first that it kept the request from; empty for other obstacles.
    var hosts: [String] = []
    /// How many hosts there were at one time, the named ones included.
    var hostCount = 0
  }

  /// Launches that ended in the same way, `finished` ones left out.
  struct Ending: Hashable, Sendable {
    var outcome: LaunchOutcome.Kind
    /// The code of an `ExpiryReason`, for expired ones.
    var reason: String?
    var count: Int
  }

  var state: RequestState
  /// Whether something goes on: the durations grow.
  var isOpen: Bool
  var submittedAt: Timestamp
  /// Nil while it has not ended.
  var endedAt: Timestamp?
  /// From submission to the end, or to when the trace was read: the sum of the four below.
  var total: Duration
  var scheduled: Duration
  var waiting: Duration
  var running: Duration
  /// Between an end and the retry that an operator asked for.
  var ended: Duration
  /// Of `scheduled`, the longest first.
  var causes: [Share]
  /// Of `waiting`, the longest first. Several at one time count each: together they may be more than `waiting`.
  var obstacles: [Share]
  /// Of `waiting`, the time without any obstacle that is known.
  var unexplained: Duration
  /// The obstacles of some wait are not known from its beginning on.
  var isHistoryLost: Bool
  var launches: Int
  /// Where it ran, in the order in which it came there.
  var hosts: [String]
  /// The most frequent first.
  var endings: [Ending]
  /// Committed batches of all launches.
  var batches: Int
  /// Indexes of the batches that an operator passed over, in order.
  var skippedBatches: [Int]

  init(_ trace: RequestTrace) { self.init(trace, TraceTimeline(trace)) }

  init(_ trace: RequestTrace, _ timeline: TraceTimeline) {
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
      // Whatever a coordinator answers: a sum that is too large is not worth the process.
      sum.addingReportingOverflow(batches).overflow ? sum : sum + batches
    }
  }
}

/// When which obstacle was there in one wait.
struct WaitObstacleTimes: Sendable {
  /// By code, each list without overlaps and in order of time.
  let times: [String: [Interval]]
  /// By code, as they were named when it came first, and how many there were at most.
  let hosts: [String: (names: [String], count: Int)]
  let isHistoryLost: Bool

  init(_ wait: SpanRecord) {
    let whole = Interval(from: wait.start, to: wait.end)
    var since: [String: Timestamp] = [:]
    var found: [String: [Interval]] = [:]
    for event in wait.events {
      guard case .string(let code) = event.attributes[Names.Attribute.obstacle] else { continue }
      switch event.name {
      case Names.Event.obstacleCame: since[code] = since[code] ?? event.time
      case Names.Event.obstacleWent:
        // What went without having come was there before anybody looked.
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

  /// The longest first.
  var codes: [String] {
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

  /// Nil while the launch runs, and if it finished.
  var ending: TraceSummary.Ending? {
    guard let outcome, outcome != .finished else { return nil }
    let reason = outcome == .expired ? text(Names.Attribute.expiryReason) : nil
    return TraceSummary.Ending(outcome: outcome, reason: reason, count: 1)
  }
}

extension [TraceSummary.Ending] {
  /// Those that are the same as one, the most frequent first.
  var tallied: [TraceSummary.Ending] {
    var counts: [TraceSummary.Ending: Int] = [:]
    for ending in self { counts[ending, default: 0] += 1 }
    return counts.map { TraceSummary.Ending(outcome: $0.outcome, reason: $0.reason, count: $1) }
      .sorted { ($1.count, $0.words) < ($0.count, $1.words) }
  }
}

extension TraceSummary.Ending {
  /// `expired powerLost`.
  var words: String { outcome.rawValue + (reason.map { " \($0)" } ?? "") }
}

extension [String] {
  fileprivate var unique: [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
