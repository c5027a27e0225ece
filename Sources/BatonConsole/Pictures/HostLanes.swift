import BatonJSON
import BatonModel
import BatonStore

/// A time of a host as a picture: a lane for each condition that mattered, and below them what ran.
struct HostLanes {
  /// How long something was so.
  struct Bar: Hashable {
    var from: Timestamp
    var to: Timestamp
    /// What was so, in words; `nil` for a condition that was not known.
    var value: String?
    /// The class of the bar, which chooses its colour.
    var look: String
    /// What a person reads who points at it.
    var words: String
    var link: Link?
  }

  struct Lane: Hashable {
    var name: String
    var bars: [Bar]
    var isCondition: Bool
  }

  private(set) var lanes: [Lane]
  private let from: Timestamp
  private let to: Timestamp

  /// The most lanes of launches; what does not fit into them is counted below the picture.
  static let mostLaunchLanes = 12
  private(set) var hidden = 0

  init(_ history: HostHistory, of conditions: Conditions, from: Timestamp, to: Timestamp) {
    (self.from, self.to) = (from, to)
    let changes = Dictionary(grouping: history.conditions, by: \.condition)
    lanes = Self.shown(conditions).map { name, title, now in
      Lane(name: title, bars: Self.bars(name, changes[name] ?? [], now, from: from, to: to), isCondition: true)
    }
    if let leases = changes["lease"] {
      lanes.append(Lane(name: "lease", bars: Self.bars("lease", leases, nil, from: from, to: to), isCondition: true))
    }
    addLaunches(history.launches)
  }

  /// The conditions with a lane: their names in the history, for people, and their present value.
  private static func shown(_ conditions: Conditions) -> [(String, String, String?)] {
    [
      ("power", "power", conditions.power.value?.rawValue), ("thermal", "heat", conditions.thermal.value?.name),
      ("network", "network", conditions.network.value?.rawValue),
      ("idle", "idle", conditions.isIdle.value.map { "\($0)" }),
      ("lowPowerMode", "low power", conditions.lowPowerMode.value.map { "\($0)" }),
    ]
  }

  // MARK: Bars

  /// The bars of a condition. Before its first known change nothing is said of it; if it has not changed at all, it had
  /// its present value all the time.
  static func bars(
    _ name: String, _ changes: [ConditionChange], _ now: String?, from: Timestamp, to: Timestamp
  ) -> [Bar] {
    guard !changes.isEmpty else {
      return [bar(name, now, "", from: from, to: to)]
    }
    let inOrder = changes.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
    let ends = inOrder.dropFirst().map(\.at) + [to]
    return zip(inOrder, ends).compactMap { change, end in
      let (start, end) = (max(from, change.at), min(to, end))
      return start < end ? bar(name, change.value, change.source, from: start, to: end) : nil
    }
  }

  private static func bar(
    _ name: String, _ value: String?, _ source: String, from: Timestamp, to: Timestamp
  ) -> Bar {
    let time = (to - from).magnitude.inWords
    let words = "\(value ?? "unknown") for \(time)" + (source.isEmpty ? "" : ", says \(source)")
    return Bar(from: from, to: to, value: value, look: look(of: name, value), words: words)
  }

  /// Whether the value keeps work away, is nothing special, or is not known.
  private static func look(of name: String, _ value: String?) -> String {
    guard let value else { return "unknown" }
    let keepsAway: Set = [
      "power=battery", "thermal=serious", "thermal=critical", "network=unavailable", "idle=false",
      "lowPowerMode=true", "lease=none",
    ]
    if keepsAway.contains("\(name)=\(value)") { return "away" }
    return ["thermal=fair", "network=metered"].contains("\(name)=\(value)") ? "warn" : "fine"
  }

  /// Launches that ran at the same time lie in lanes of their own.
  private mutating func addLaunches(_ launches: [HostLaunch]) {
    var taken: [(end: Timestamp, bars: [Bar])] = []
    for launch in launches.sorted(by: { ($0.startedAt, $0.launch) < ($1.startedAt, $1.launch) }) {
      let (start, end) = (max(from, launch.startedAt), min(to, launch.endedAt ?? to))
      guard start <= end else { continue }
      let bar = Self.bar(of: launch, from: start, to: end)
      if let free = taken.firstIndex(where: { $0.end <= start }) {
        taken[free] = (end, taken[free].bars + [bar])
      } else if taken.count < Self.mostLaunchLanes {
        taken.append((end, [bar]))
      } else {
        hidden += 1
      }
    }
    for (index, lane) in taken.enumerated() {
      lanes.append(Lane(name: index == 0 ? "launches" : "", bars: lane.bars, isCondition: false))
    }
  }

  private static func bar(of launch: HostLaunch, from: Timestamp, to: Timestamp) -> Bar {
    let outcome = launch.outcome?.rawValue ?? "running"
    let reason = launch.reason?.plainLines.last.map { ": \($0.prefix(200))" } ?? ""
    let name = "\(launch.identifier) #\(launch.number)" + (launch.shard > 0 ? ", shard \(launch.shard)" : "")
    let look =
      switch launch.outcome {
      case nil: "run"
      case .finished: "ended"
      case .expired: "expired"
      case .failed, .lost: "failed"
      }
    return Bar(
      from: from, to: to, value: outcome, look: look,
      words: "\(name), launch \(launch.launch): \(outcome) after \((to - from).magnitude.inWords)\(reason)",
      link: Parts.link(of: launch.identifier, launch.number))
  }

  // MARK: The picture

  private static let width = 960.0
  private static let margin = 84.0
  private static let height = 20.0

  var picture: HTML {
    let all = Self.height * Double(lanes.count) + 24
    let rows = lanes.enumerated().map { row($0.element, at: 4 + Self.height * Double($0.offset)) }
    let more: HTML =
      hidden == 0
      ? "" : "<p class=\"quiet\">\(counted(hidden, "more launch", plural: "more launches")) ran at the same time.</p>"
    return """
      <div class="wide" tabindex="0" role="region" aria-label="Conditions and launches of the last 24 hours">
      <svg class="lanes" viewBox="0 0 \(Self.width) \(all)" width="\(Self.width)" height="\(all)" \
      aria-label="Conditions above, launches below; the table below the picture tells the same">
      \(axis(below: all - 16))
      \(rows)
      </svg></div>
      \(legend)
      \(more)
      """
  }

  private var legend: HTML {
    """
    <p class="legend quiet"><span class="key fine">fine</span> <span class="key warn">weighs</span> \
    <span class="key away">keeps work away</span> <span class="key unknown">unknown</span> \
    <span class="key run">runs</span> <span class="key ended">finished</span> \
    <span class="key expired">expired</span> <span class="key failed">failed or lost</span></p>
    """
  }

  private func row(_ lane: Lane, at top: Double) -> HTML {
    let bars = lane.bars.map { bar -> HTML in
      let (left, right) = (place(bar.from), place(bar.to))
      let shape: HTML = """
        <rect class="\(lane.isCondition ? "condition" : "launch") \(bar.look)" x="\(left)" y="\(top + 2)" \
        width="\(max(2, right - left))" height="\(Self.height - 6)"><title>\(bar.words)</title></rect>
        """
      let label: HTML =
        lane.isCondition && right - left > 70
        ? "<text class=\"value \(bar.look)\" x=\"\(left + 4)\" y=\"\(top + 12.5)\">\(bar.value ?? "unknown")</text>"
        : ""
      guard let link = bar.link else { return shape + label }
      return "<a href=\"\(link)\" aria-label=\"\(bar.words)\">\(shape)</a>"
    }
    let name: HTML =
      lane.name.isEmpty
      ? "" : "<text class=\"name\" x=\"\(Self.margin - 8)\" y=\"\(top + 12.5)\" text-anchor=\"end\">\(lane.name)</text>"
    return "<g class=\"lane\">\(name)\(bars)</g>\n"
  }

  private func axis(below top: Double) -> HTML {
    let span = to - from
    let marks = [(0, "24 h ago"), (1, "18 h"), (2, "12 h"), (3, "6 h"), (4, "now")].map { quarter, words -> HTML in
      let x = place(from + span * quarter / 4)
      let anchor: HTML = quarter == 0 ? "start" : quarter == 4 ? "end" : "middle"
      return """
        <line x1="\(x)" x2="\(x)" y1="2" y2="\(top)"/>\
        <text x="\(x)" y="\(top + 12)" text-anchor="\(anchor)">\(words)</text>
        """
    }
    return "<g class=\"axis\">\(marks)</g>"
  }

  private func place(_ time: Timestamp) -> Double {
    let part = (time - from).inSeconds / max(1, (to - from).inSeconds)
    return Self.margin + min(1, max(0, part)) * (Self.width - Self.margin - 4)
  }
}
