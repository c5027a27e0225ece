import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import BatonTelemetry
import HTTPTypes

/// Where the time of a request went: the spans of its trace over time.
struct TracePage: Sendable {
  /// How many launches are shown, unless all are wanted.
  private static let (shown, all) = (20, 200)

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let (identifier, number) = (try visit.call.identifier, try visit.call.number)
    let wantsAll = try visit.query.truth("all")
    let (details, trace) = try await visit.run { api in
      let details = try await api.details(identifier, number: number)
      return (details, try await api.trace(identifier, number: details.record.number))
    }
    let record = details.record
    let picture = TracePicture(trace, mostLaunches: wantsAll ? Self.all : Self.shown)
    let link = Parts.link(of: record.identifier, record.number).appending("trace")
    let more: HTML =
      picture.leftOut == 0
      ? ""
      : wantsAll
        ? "<p>\(counted(picture.leftOut, "launch", plural: "launches")) left out, the first ones.</p>"
        : """
        <p>\(counted(picture.leftOut, "launch", plural: "launches")) left out, the first ones. \
        <a href="\(link.with([("all", "true")]))">Up to \(Self.all) launches</a></p>
        """
    let backend: HTML =
      visit.console.traceURL.map { template in
        let address = template.replacing("{traceId}", with: record.trace.traceID.description)
        return "<a class=\"button\" href=\"\(address)\" rel=\"noreferrer\">In the tracing backend</a>"
      } ?? ""
    return Page(
      title: "Trace of \(record.identifier) #\(record.number)", section: .requests, topics: RequestParts.topics(record),
      main: """
        \(RequestParts.heading(record, "trace", buttons: [backend]))
        <p class="lead">\(TraceSummary(trace).sentence.capitalizedFirst).</p>
        \(picture.lanes.svg("Trace of \(record.identifier.rawValue): spans over time"))
        \(more)
        <details id="as-table"><summary>The picture as a table</summary>
        \(Parts.table("Spans", ["Span", "From (UTC)", "For", "What"], picture.rows))</details>
        <p>Trace <code>\(record.trace.traceID.description)</code>. \
        <a href="\(Parts.link(of: record.identifier, record.number).appending("otlp"))" download>Its spans as OTLP JSON\
        </a>, as <code>baton trace \(record.name.arguments) -o otlp</code> writes them.</p>
        """)
  }

  /// The spans that have ended, for a tracing backend.
  @Sendable static func download(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let trace = try await call.run { try await $0.trace(identifier, number: number) }
    return Answer(
      body: .bytes(Array((trace.exportable.json + "\n").utf8), type: Answer.json),
      headers: [.contentDisposition: "attachment; filename=\"\(identifier)-\(number ?? 0).json\""])
  }
}

/// The spans of a trace, a lane for each.
private struct TracePicture {
  private(set) var lanes: Lanes
  private(set) var rows: [HTML] = []
  private(set) var leftOut = 0

  init(_ trace: RequestTrace, mostLaunches: Int) {
    let timeline = TraceTimeline(trace)
    let launches = trace.spans(.launch)
    leftOut = max(0, launches.count - mostLaunches)
    let hidden = Set(launches.prefix(leftOut).map(\.id))
    lanes = Lanes(whole: timeline.whole, lanes: [])
    var parents = hidden
    for span in trace.spans.sorted(by: { $0.start < $1.start }) {
      // What belongs to a launch that is left out is left out too.
      if hidden.contains(span.id) || span.parent.map(parents.contains(_:)) ?? false {
        parents.insert(span.id)
        continue
      }
      guard lanes.lanes.count < 400 else { break }
      add(span, trace)
    }
    guard let first = lanes.lanes.flatMap(\.bars).map(\.time.from).min(), leftOut > 0 else { return }
    lanes.whole = Interval(from: first, to: lanes.whole.to)
  }

  private mutating func add(_ span: SpanRecord, _ trace: RequestTrace) {
    let isOpen = trace.isOpen(span)
    let name = Self.name(span)
    let what = Self.words(span)
    let title = "\(name) \(span.duration.inWords)\(isOpen ? " so far" : "")\(what.isEmpty ? "" : ": \(what)")"
    let bar = Lanes.Bar(
      time: Interval(from: span.start, to: span.end), kind: Self.kind(span), title: title, isOpen: isOpen)
    lanes.lanes.append(Lanes.Lane(name: name, bars: [bar]))
    rows.append(
      """
      <tr><td>\(name)</td><td>\(span.start.utc)</td><td>\(span.duration.inWords)</td><td>\(what)</td></tr>
      """)
    guard span.role == .wait else { return }
    let obstacles = WaitObstacleTimes(span)
    for code in obstacles.codes.prefix(6) {
      let times = obstacles.times[code] ?? []
      let bars = times.suffix(200).map {
        Lanes.Bar(time: $0, kind: "obstacle", title: "\(code) for \($0.duration.inWords)")
      }
      lanes.lanes.append(Lanes.Lane(name: "  " + code, bars: bars))
      rows.append(
        """
        <tr><td>\(Parts.reason(code))</td><td>\(times.first?.from.utc ?? "")</td><td>\(times.duration.inWords)</td>\
        <td>obstacle\(times.count > 1 ? ", \(times.count) times" : "")</td></tr>
        """)
    }
  }

  private static func name(_ span: SpanRecord) -> String {
    switch span.role {
    case .launch: "launch" + (span.number(Names.Attribute.launch).map { " \($0)" } ?? "")
    case let role?: "\(role.rawValue)"
    case nil: span.name
    }
  }

  private static func words(_ span: SpanRecord) -> String {
    [
      span.outcome?.rawValue, span.text(Names.Attribute.expiryReason), span.text(Names.Attribute.host),
      span.number(Names.Attribute.batches).map { counted($0, "batch", plural: "batches") },
      span.text(Names.Attribute.requestState), span.error.map { "error: \($0)" },
    ].compactMap { $0 }.joined(separator: ", ")
  }

  private static func kind(_ span: SpanRecord) -> String {
    switch span.role {
    case .wait: "wait"
    case .expire: "expiring"
    default: "run " + (span.error != nil ? "failed" : span.outcome?.rawValue ?? "")
    }
  }
}
