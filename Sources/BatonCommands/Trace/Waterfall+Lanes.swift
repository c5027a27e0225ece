import BatonJSON
import BatonModel
import BatonTelemetry

/// The launches of a request that was divided. Several of them run at the same time, and there may be thousands: they
/// are drawn as lanes.
extension Waterfall {
  /// How many lanes are shown one by one. A request has up to 1,024.
  private static let shownLanes = 16

  /// Whether the request was divided, so that its launches are those of shards.
  var isDivided: Bool { turns.contains { $0.launch.number(Names.Attribute.shard) != nil } }

  /// How many launches ran at once, and of how many shards; empty if the request was not divided.
  var lanesText: String {
    let shards = Set(turns.compactMap { $0.launch.number(Names.Attribute.shard) })
    guard !shards.isEmpty else { return "" }
    let launches = counted(turns.count, "launch", plural: "launches")
    return "\(lanes.count) at once, for \(counted(shards.count, "shard", plural: "shards")) in \(launches)"
  }

  /// Launches that ran one after the other, each in the lowest lane that was free when it began.
  var lanes: [[Turn]] {
    var lanes: [[Turn]] = []
    for turn in turns.sorted(by: { $0.launch.start < $1.launch.start }) {
      if let free = lanes.firstIndex(where: { $0.last.map { $0.isOver(at: turn.launch.start) } ?? true }) {
        lanes[free].append(turn)
      } else {
        lanes.append([turn])
      }
    }
    return lanes
  }

  /// One row for each lane; the last row is about all lanes that are not shown.
  var laneRows: [WaterfallRow] {
    let lanes = lanes
    let shown = lanes.count > Self.shownLanes ? Self.shownLanes - 1 : lanes.count
    let hidden = lanes.dropFirst(shown)
    let rows = lanes.prefix(shown).enumerated().map { Self.row("lane \($0.offset + 1)", $0.element) }
    return hidden.isEmpty ? rows : rows + [Self.row("… \(hidden.count) more lanes", hidden.flatMap { $0 })]
  }

  private static func row(_ name: String, _ turns: [Turn]) -> WaterfallRow {
    let times = turns.map { Interval(from: $0.launch.start, to: $0.launch.end) }
    let hosts = Set(turns.compactMap { $0.launch.text(Names.Attribute.host) })
    let shards = Set(turns.compactMap { $0.launch.number(Names.Attribute.shard) })
    let endings = turns.compactMap(\.launch.ending).tallied.map { "\($0.count) \($0.words)" }
    let isOpen = turns.contains(where: \.isOpen)
    return WaterfallRow(
      name: name, marks: times.map { .init(time: $0, glyph: $0.duration == .zero ? .moment : .running) },
      isOpen: isOpen, duration: times.duration,
      words: [
        counted(shards.count, "shard", plural: "shards"),
        hosts.count == 1 ? hosts.first ?? "" : counted(hosts.count, "host", plural: "hosts"),
      ] + endings,
      colour: isOpen ? .cyan : endings.isEmpty ? .green : .yellow)
  }
}

extension Waterfall.Turn {
  fileprivate func isOver(at time: Timestamp) -> Bool { !isOpen && launch.end <= time }
}
