import BatonBase
import BatonJSON
import BatonModel

/// Bars over time, in lanes one below the other: what a request or a host did, and when.
struct Lanes: Hashable {
  struct Bar: Hashable {
    var time: Interval
    /// The class of its colour in the style sheet, such as `run` or `wait`.
    var kind: String
    /// What it is, for a person who points at it.
    var title: String
    /// A short text in the bar, where it has room; empty for none.
    var label = ""
    /// Whether it goes on.
    var isOpen = false
  }

  struct Lane: Hashable {
    var name: String
    var bars: [Bar]
  }

  var whole: Interval
  var lanes: [Lane]

  /// A picture of less time than this has times with milliseconds.
  private static let short = Duration.seconds(4)
  private static let (left, width, row) = (150.0, 960.0, 26.0)

  /// The picture, with what it shows in words.
  func svg(_ words: String) -> HTML {
    let height = Double(lanes.count) * Self.row + 30
    let rows = lanes.enumerated().map { index, lane in draw(lane, top: Double(index) * Self.row + 4) }
    return """
      <div class="wide" tabindex="0" role="region" aria-label="\(words)">\
      <svg class="lanes" viewBox="0 0 \(Self.width) \(height)" width="\(Self.width)" height="\(height)" role="img" \
      aria-label="\(words)">\(rows)\(axis(top: height - 22))</svg></div>
      """
  }

  private func x(_ time: Timestamp) -> Double {
    let all = max(1, Double(whole.duration.nanoseconds))
    return Self.left + Double((time - whole.from).nanoseconds) / all * (Self.width - Self.left - 8)
  }

  private func draw(_ lane: Lane, top: Double) -> HTML {
    let name = lane.name.count > 20 ? String(lane.name.prefix(19)) + "…" : lane.name
    return """
      <text class="lane" x="4" y="\(top + 14)">\(name)<title>\(lane.name)</title></text>\
      <line class="axis" x1="\(Self.left)" x2="\(Self.width)" y1="\(top + 20)" y2="\(top + 20)"/>\
      \(lane.bars.map { draw($0, top: top) })
      """
  }

  private func draw(_ bar: Bar, top: Double) -> HTML {
    let time = bar.time.clipped(to: whole)
    let (from, to) = (x(time.from), x(time.to))
    let width = max(2, to - from)
    // About seven units for a character.
    let fits = !bar.label.isEmpty && Double(bar.label.count) * 7 + 8 < width
    let label: HTML = fits ? "<text class=\"in\" x=\"\(from + 4)\" y=\"\(top + 13)\">\(bar.label)</text>" : ""
    let open: HTML =
      bar.isOpen
      ? "<path class=\"\(bar.kind)\" d=\"M\(to - 1) \(top + 2)l6 6l-6 6z\"/>" : ""
    return """
      <g><title>\(bar.title)</title><rect class="\(bar.kind)" x="\(from)" y="\(top)" width="\(width)" height="16" \
      rx="2"/>\(open)\(label)</g>
      """
  }

  private func axis(top: Double) -> HTML {
    // Of a picture of few seconds only the ends have times: others would repeat them.
    let steps = whole.duration < Self.short ? 1 : 4
    return (0...steps).map { step -> HTML in
      let time = whole.from + .nanoseconds(whole.duration.nanoseconds / Int64(steps) * Int64(step))
      let place = step == 0 ? "start" : step == steps ? "end" : "middle"
      return """
        <text class="axis" x="\(x(time))" y="\(top + 14)" text-anchor="\(place)">\(clock(time))</text>
        """
    }.joined()
  }

  /// The time of the day, with the date if the picture is longer than a day, and with milliseconds if it is short.
  private func clock(_ time: Timestamp) -> String {
    if whole.duration < Self.short { return String(time.rfc3339.dropFirst(11).prefix(12)) }
    let text = time.utc
    if whole.duration > .seconds(86_400) { return String(text.prefix(16)).replacing("T", with: " ") }
    return String(text.dropFirst(11).prefix(8))
  }
}
