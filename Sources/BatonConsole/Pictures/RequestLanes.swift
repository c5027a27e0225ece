import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import BatonTelemetry

/// The picture of a request: why it waited, and where it ran.
struct RequestLanes {
  /// The most lanes of hosts, and the most obstacles. The last launches are shown.
  private static let (mostHosts, mostObstacles, mostLaunches) = (12, 4, 200)

  let lanes: Lanes
  /// How many launches are left out, the first ones.
  let leftOut: Int
  /// The same facts in words, in the order of time.
  let rows: [(from: Timestamp, to: Timestamp, what: String)]

  init(_ trace: RequestTrace, _ launches: [LaunchRecord], _ now: Timestamp) {
    let timeline = TraceTimeline(trace)
    let end = max(timeline.whole.to, trace.state.isEnded ? timeline.whole.from : now)
    var found = Self.waits(trace)
    let shown = launches.suffix(Self.mostLaunches)
    leftOut = launches.count - shown.count
    let hosts = shown.map(\.host).unique
    for host in hosts.prefix(Self.mostHosts) {
      let bars = shown.filter { $0.host == host }.flatMap { Self.bars($0, now) }
      found.append(Lanes.Lane(name: host.rawValue, bars: bars))
    }
    if hosts.count > Self.mostHosts {
      let rest = Set(hosts.dropFirst(Self.mostHosts))
      found.append(
        Lanes.Lane(
          name: "\(rest.count) more hosts", bars: shown.filter { rest.contains($0.host) }.flatMap { Self.bars($0, now) }
        ))
    }
    var from = timeline.whole.from
    if leftOut > 0, let first = shown.first { from = first.startedAt }
    lanes = Lanes(whole: Interval(from: from, to: end), lanes: found)
    rows = found.flatMap { lane in
      lane.bars.map { (from: $0.time.from, to: $0.time.to, what: "\(lane.name): \($0.title)") }
    }.sorted { $0.from < $1.from }
  }

  /// The times in which the request waited, one lane for each of the largest obstacles.
  private static func waits(_ trace: RequestTrace) -> [Lanes.Lane] {
    let waits = trace.spans(.wait)
    guard !waits.isEmpty else { return [] }
    let bars = waits.map { span in
      Lanes.Bar(
        time: Interval(from: span.start, to: span.end), kind: "wait",
        title: "waited \(span.duration.inWords)\(trace.isOpen(span) ? " so far" : "")", isOpen: trace.isOpen(span))
    }
    var times: [String: [Interval]] = [:]
    for wait in waits { times.merge(WaitObstacleTimes(wait).times, uniquingKeysWith: +) }
    let largest = times.sorted { ($1.value.duration, $0.key) < ($0.value.duration, $1.key) }.prefix(mostObstacles)
    return [Lanes.Lane(name: "waiting", bars: bars)]
      + largest.map { code, intervals in
        Lanes.Lane(
          name: code,
          bars: intervals.suffix(mostLaunches).map {
            Lanes.Bar(time: $0, kind: "obstacle", title: "\(code) for \($0.duration.inWords)")
          })
      }
  }

  private static func bars(_ launch: LaunchRecord, _ now: Timestamp) -> [Lanes.Bar] {
    let end = launch.endedAt ?? now
    let name = (launch.shard > 0 ? "shard \(launch.shard), " : "") + "launch \(launch.launch.number)"
    let outcome = launch.outcome?.rawValue ?? (launch.endedAt == nil ? "running" : "ended")
    let reason = launch.expiringReason?.code ?? launch.reason?.lastLine ?? ""
    let title =
      "\(name), \(outcome)\(reason.isEmpty ? "" : " (\(reason))"), \(counted(launch.batches, "batch", plural: "batches")) "
      + "in \((end - launch.startedAt).magnitude.inWords)"
    let asked = launch.expiringSince.map { min(max($0, launch.startedAt), end) }
    let run = Lanes.Bar(
      time: Interval(from: launch.startedAt, to: asked ?? end), kind: "run \(outcome)", title: title,
      label: "\(launch.launch.number)", isOpen: launch.endedAt == nil && asked == nil)
    guard let asked else { return [run] }
    let stop = Lanes.Bar(
      time: Interval(from: asked, to: end), kind: "expiring",
      title: "\(name) was asked to stop: \(reason); free after \((end - asked).magnitude.inWords)",
      isOpen: launch.endedAt == nil)
    return [run, stop]
  }

  func figure(_ name: String) -> HTML {
    let facts = rows.suffix(300).map { row -> HTML in
      "<tr><td>\(row.from.utc)</td><td>\((row.to - row.from).magnitude.inWords)</td><td>\(row.what)</td></tr>"
    }
    return """
      \(lanes.svg("\(name): waits and launches over time"))
      \(leftOut > 0, "<p>\(counted(leftOut, "earlier launch", plural: "earlier launches")) left out.</p>")
      <details id="as-table"><summary>The picture as a table</summary>\
      \(Parts.table("Waits and launches", ["From (UTC)", "For", "What"], facts))</details>
      """
  }
}
