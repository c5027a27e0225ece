import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonTelemetry

/// The text of `baton trace`: the name of the request, where the time went, and the waterfall.
struct TraceText {
  /// The width in columns where no terminal says how wide it is.
  static let usualWidth = 80
  /// The smallest width in columns. A narrower terminal wraps the lines.
  private static let narrowestWidth = 40

  private let name: RequestName
  private let trace: RequestTrace
  private let link: String?
  private let showsAll: Bool
  private let style: Style
  private let width: Int

  /// - Parameters:
  ///   - link: the address at which a person can look at the trace.
  ///   - showsAll: whether every launch and event is shown, rather than as many as people read.
  ///   - width: the width of the terminal in columns; `nil` if there is no terminal.
  init(_ name: RequestName, _ trace: RequestTrace, link: String?, showsAll: Bool, style: Style, width: Int?) {
    (self.name, self.trace, self.link, self.showsAll, self.style) = (name, trace, link, showsAll, style)
    self.width = max(Self.narrowestWidth, width ?? Self.usualWidth)
  }

  var lines: [String] {
    let timeline = TraceTimeline(trace)
    let whole = Waterfall(trace, timeline, showsAll: showsAll)
    let rows = whole.rows(showsAll ? nil : Waterfall.Limits())
    let waterfall = WaterfallText(rows: rows, whole: timeline.whole, style: style, width: width).lines
    return [style.bold(name.description)] + facts(TraceSummary(trace, timeline), whole.lanesText)
      + (waterfall.isEmpty ? ["", "there are no spans yet"] : [""] + waterfall)
  }

  private func facts(_ summary: TraceSummary, _ lanes: String) -> [String] {
    let took = summary.total.inWords + (summary.endedAt == nil ? " so far" : "")
    let spent = summary.sentence.onOneLine.wrapped(to: width - 10)
    return block(
      [
        ("State", style.paint(summary.state.rawValue, summary.state.colour)),
        ("Trace", trace.spans.first?.trace.description ?? ""),
        ("Lanes", lanes),
        ("Link", link?.onOneLine ?? ""),
        ("Took", "\(took), from \(summary.submittedAt.utc)"),
        ("Spent", spent.first ?? ""),
      ]) + spent.dropFirst().map { String(repeating: " ", count: 9) + $0 }
  }
}
