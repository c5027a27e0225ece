import BatonJSON
import BatonModel
import BatonTelemetry

/// Makes rows from the spans, each parent before its children, and from the gaps between spans.
struct WaterfallRows {
  /// How many events of the same name are shown in one span.
  private static let eventsOfName = 3

  let trace: RequestTrace
  let timeline: TraceTimeline
  let showsAll: Bool

  /// A root span, with the rows of everything below it and of the gaps before it.
  struct Item {
    var span: SpanRecord
    var rows: [WaterfallRow]
    var role: Names.Span? { span.role }
  }

  var items: [Item] {
    let tree = TraceTree(trace.spans)
    let gaps = timeline.segments.filter(isShown)
    var next = 0
    return tree.roots.map { root in
      var rows: [WaterfallRow] = []
      // A gap goes before the first span that begins when or after the gap ends.
      while next < gaps.count, gaps[next].time.to <= root.start, root.role != .submit {
        rows.append(row(gaps[next], before: root))
        next += 1
      }
      for (span, depth) in tree.branch(root) { rows += self.rows(span, depth: depth) }
      return Item(span: root, rows: rows)
    } + rest(gaps[next...])
  }

  /// The gap at the end of the trace, of a request that is scheduled now.
  private func rest(_ gaps: ArraySlice<TraceTimeline.Segment>) -> [Item] {
    guard let last = trace.spans.last, !gaps.isEmpty else { return [] }
    var item = Item(span: last, rows: gaps.map { row($0, before: nil) })
    item.span.name = ""
    return [item]
  }

  /// Whether a gap is worth a row: it lasts at least a second, or at least a hundredth of the whole. Shorter gaps are
  /// Baton's own overhead, and say nothing about the request.
  private func isShown(_ gap: TraceTimeline.Segment) -> Bool {
    switch gap.phase {
    case .waiting, .running: false
    case .scheduled, .ended:
      gap.time.duration > .zero
        && (gap.time.duration >= .seconds(1) || gap.time.duration * 100 >= timeline.whole.duration)
    }
  }

  private func row(_ gap: TraceTimeline.Segment, before next: SpanRecord?) -> WaterfallRow {
    let isOpen = next == nil && !trace.state.isEnded
    return WaterfallRow(
      name: gap.phase == .ended ? "ended" : "scheduled",
      marks: [.init(time: gap.time, glyph: .scheduled)], isOpen: isOpen, duration: gap.time.duration,
      words: [isOpen ? "so far" : nil, gap.phase == .ended ? "until it was retried" : gap.cause].said, colour: .grey)
  }

  // MARK: Spans

  private func rows(_ span: SpanRecord, depth: Int) -> [WaterfallRow] {
    [row(span, depth: depth)] + (span.role == .wait ? obstacles(span, depth + 1) : []) + events(span, depth + 1)
  }

  private func row(_ span: SpanRecord, depth: Int) -> WaterfallRow {
    let isOpen = trace.isOpen(span)
    let time = Interval(from: span.start, to: span.end)
    return WaterfallRow(
      name: span.title, depth: depth, marks: [.init(time: time, glyph: span.glyph)], isOpen: isOpen,
      duration: span.duration == .zero && !isOpen ? nil : span.duration,
      words: ([isOpen ? span.going : nil] + span.words).said, note: note(of: span), colour: span.colour(isOpen: isOpen))
  }

  /// The error of the span. It is left out for a lost launch, whose outcome says enough, and for a completion that
  /// repeats the error of its last launch.
  private func note(of span: SpanRecord) -> String? {
    guard let error = span.error, !error.isEmpty, span.outcome != .lost else { return nil }
    let last = trace.spans.last { $0.role == .launch && $0.start <= span.start }
    return span.role == .complete && last?.error == error ? nil : "error: \(error)"
  }

  private func obstacles(_ wait: SpanRecord, _ depth: Int) -> [WaterfallRow] {
    let obstacles = WaitObstacleTimes(wait)
    return obstacles.codes.compactMap { code in
      guard let times = obstacles.times[code], let first = times.first, let last = times.last else { return nil }
      let offsets = "from \(offset(first.from)) to \(offset(last.to))"
      let count = times.count == 1 ? [] : ["\(times.count) times"]
      return WaterfallRow(
        name: code, depth: depth, marks: times.map { .init(time: $0, glyph: .obstacle) }, duration: times.duration,
        words: [offsets] + count)
    }
  }

  /// The time since the submission: `0:00`, `12:40`, `1:02:40`, and from a day on `4d 18h`.
  private func offset(_ time: Timestamp) -> String {
    let since = max(.zero, time - timeline.whole.from)
    guard since < .seconds(86_400) else { return since.inWords }
    let seconds = since.nanoseconds / 1_000_000_000
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    return (hours > 0 ? "\(hours):\(minutes.twoDigits)" : "\(minutes)") + ":\((seconds % 60).twoDigits)"
  }

  // MARK: Events

  private func events(_ span: SpanRecord, _ depth: Int) -> [WaterfallRow] {
    var rows: [WaterfallRow] = []
    var seen: [String: [SpanEvent]] = [:]
    for event in span.events where !event.isOfObstacle {
      let before = seen[event.name, default: []].count
      seen[event.name, default: []].append(event)
      if showsAll || before < Self.eventsOfName { rows.append(row(event, depth)) }
    }
    return showsAll ? rows : rows + seen.sorted { $0.key < $1.key }.compactMap { more($0.value, depth) }
  }

  private func row(_ event: SpanEvent, _ depth: Int) -> WaterfallRow {
    let time = Interval(from: event.time, to: event.time)
    return WaterfallRow(
      name: event.title, depth: depth, marks: [.init(time: time, glyph: .moment)],
      words: event.attributes.map { event.attributes.count == 1 ? $0.value.words : "\($0.key)=\($0.value.words)" })
  }

  private func more(_ events: [SpanEvent], _ depth: Int) -> WaterfallRow? {
    let hidden = events.dropFirst(Self.eventsOfName)
    guard let first = hidden.first else { return nil }
    let marks = hidden.map { WaterfallRow.Mark(time: Interval(from: $0.time, to: $0.time), glyph: .moment) }
    return WaterfallRow(name: "… \(hidden.count) more", depth: depth, marks: marks, words: [first.title])
  }
}

extension [String?] {
  /// The texts that are neither `nil` nor empty.
  fileprivate var said: [String] { compactMap { $0 }.filter { !$0.isEmpty } }
}

extension Int64 {
  fileprivate var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}

extension SpanEvent {
  fileprivate var isOfObstacle: Bool { name == Names.Event.obstacleCame || name == Names.Event.obstacleWent }

  /// The name of the event as `baton show` writes it, without the prefix `baton.`.
  fileprivate var title: String { name.hasPrefix("baton.") ? String(name.dropFirst(6)) : name }
}

extension SpanRecord {
  fileprivate var title: String {
    switch role {
    case .launch:
      (number(Names.Attribute.shard).map { "shard \($0), " } ?? "") + "launch"
        + (number(Names.Attribute.launch).map { " \($0)" } ?? "")
    case .transfer: "transfer" + (number(Names.Attribute.transfer).map { " \($0)" } ?? "")
    case .submit, .wait, .run, .batch, .expire, .complete: role?.rawValue ?? name
    case nil: name
    }
  }

  fileprivate var glyph: WaterfallRow.Glyph {
    if duration == .zero { return .moment }
    switch role {
    case .wait: return .waiting
    case .expire: return .expiring
    case .submit, .launch, .run, .batch, .complete, .transfer, nil: return .running
    }
  }

  /// What an open span is doing.
  fileprivate var going: String {
    switch role {
    case .wait: "waiting so far"
    case .launch: "running so far"
    case .expire: "stopping so far"
    case .submit, .run, .batch, .complete, .transfer, nil: "so far"
    }
  }

  /// How the span ended, and where.
  fileprivate var words: [String?] {
    switch role {
    case .submit, .run, .batch, nil: []
    case .wait: [truth(Names.Attribute.historyLost) == true ? "some obstacles are not known" : nil]
    case .launch:
      [
        [outcome?.rawValue, text(Names.Attribute.expiryReason)].compactMap { $0 }.joined(separator: " "),
        text(Names.Attribute.host), truth(Names.Attribute.simulated) == true ? "simulated" : nil, batchesText,
      ]
    case .expire: [text(Names.Attribute.expiryReason), text(Names.Attribute.expiryDetail), gracefulText]
    case .complete: [text(Names.Attribute.requestState)]
    case .transfer:
      [
        text(Names.Attribute.transferOutcome), text(Names.Attribute.host),
        number(Names.Attribute.transferBytes).map { counted($0, "byte") },
        attemptsText,
      ]
    }
  }

  /// How many attempts a transfer took, and where the last one went on; `nil` if the first one did all.
  private var attemptsText: String? {
    guard let attempts = number(Names.Attribute.transferAttempts), attempts > 1 else { return nil }
    let resumed = number(Names.Attribute.transferResumedFrom).flatMap { $0 > 0 ? ", the last from byte \($0)" : nil }
    return "\(attempts) attempts" + (resumed ?? "")
  }

  private var batchesText: String? {
    number(Names.Attribute.batches).map { counted($0, "batch", plural: "batches") }
  }

  private var gracefulText: String? {
    truth(Names.Attribute.expiryGraceful).map { $0 ? "in time" : "killed at its deadline" }
  }

  /// The colour of the row, as `baton show` has it for the same outcome.
  fileprivate func colour(isOpen: Bool) -> Style.Colour? {
    switch (role, outcome) {
    case _ where error != nil: .red
    case (.expire, _), (.launch, .expired): .yellow
    case (.launch, .lost), (.launch, .failed): .red
    case (.launch, .finished): .green
    case (.launch, nil): isOpen ? .cyan : nil
    case (.complete, _): text(Names.Attribute.requestState).flatMap(RequestState.init)?.colour
    default: nil
    }
  }
}
