import BatonJSON
import BatonModel

/// Draws the rows as a table whose second column is a time axis.
struct WaterfallText {
  private static let gap = 2
  /// The narrowest bar in columns: a narrower bar shows too little.
  private static let narrowestBar = 12
  private static let widestBar = 80
  /// The width to which the last column is cut at most, as long as another column can be left out.
  private static let narrowestText = 24
  private static let indentation = 2
  /// How many lines of a note are shown.
  private static let noteLines = 3

  /// The width of each part in columns; 0 means that the part is left out.
  struct Layout: Hashable, Sendable {
    var name: Int
    var bar: Int
    var start: Int
    var duration: Int
    var text: Int
  }

  let rows: [WaterfallRow]
  let whole: Interval
  let style: Style
  let width: Int

  var lines: [String] {
    guard !rows.isEmpty else { return [] }
    let layout = layout
    return [header(layout)] + rows.flatMap { lines($0, layout) } + legend
  }

  // MARK: Columns

  /// The widths of the parts. If the terminal is too narrow, the end of the text goes first, then the start, then
  /// the bar.
  var layout: Layout {
    let names = rows.map { $0.depth * Self.indentation + $0.name.onOneLine.columns }.max() ?? 0
    var layout = Layout(
      name: min(max(names, 4), max(12, width / 3)), bar: 0,
      start: max(5, rows.map { startText($0).columns }.max() ?? 0),
      duration: max(3, rows.map { durationText($0).columns }.max() ?? 0),
      text: max(7, rows.map(\.text.columns).max() ?? 0))
    let others = [layout.name, layout.duration, layout.start]
    var room = width - others.reduce(0, +) - 4 * Self.gap
    if room < Self.narrowestBar + Self.narrowestText {
      room += layout.start + Self.gap
      layout.start = 0
    }
    guard room >= Self.narrowestBar + min(layout.text, Self.narrowestText) else {
      layout.text = max(0, min(layout.text, room + Self.gap))
      return layout
    }
    // Bar and text each get a share of the room. What the text does not need goes to the bar.
    layout.text = min(layout.text, max(Self.narrowestText, room - max(Self.narrowestBar, room * 2 / 5)))
    layout.bar = min(Self.widestBar, room - layout.text)
    return layout
  }

  private func startText(_ row: WaterfallRow) -> String { row.start.map { offset($0).inWords } ?? "" }
  private func durationText(_ row: WaterfallRow) -> String { row.duration?.inWords ?? "" }
  private func offset(_ time: Timestamp) -> Duration { max(.zero, time - whole.from) }

  // MARK: Lines

  private func header(_ layout: Layout) -> String {
    let end = whole.duration.inWords
    let axis = layout.bar == 0 ? "" : "0s" + end.padded(to: layout.bar - 2, trailing: true)
    return style.bold(line("SPAN", axis, "START", "FOR", "OUTCOME", layout))
  }

  private func lines(_ row: WaterfallRow, _ layout: Layout) -> [String] {
    let name = String(repeating: " ", count: row.depth * Self.indentation) + row.name.onOneLine
    let words = row.text(within: layout.text)
    let text = words.isEmpty ? "" : style.paint(words, row.colour)
    let bar = style.paint(bar(row, layout.bar), row.colour)
    return [line(name, bar, startText(row), durationText(row), text, layout)] + notes(row)
  }

  private func line(
    _ name: String, _ bar: String, _ start: String, _ duration: String, _ text: String, _ layout: Layout
  ) -> String {
    var parts = [name.cut(to: layout.name).padded(to: layout.name)]
    if layout.bar > 0 { parts.append(bar) }
    if layout.start > 0 { parts.append(start.padded(to: layout.start, trailing: true)) }
    parts.append(duration.padded(to: layout.duration, trailing: true))
    if layout.text > 0 { parts.append(text) }
    return parts.joined(separator: String(repeating: " ", count: Self.gap)).withoutTrailingSpaces
  }

  private func notes(_ row: WaterfallRow) -> [String] {
    guard let note = row.note?.onOneLine, !note.isEmpty else { return [] }
    let margin = String(repeating: " ", count: (row.depth + 1) * Self.indentation)
    let all = note.wrapped(to: max(18, width - margin.count - 2))
    let shown = all.prefix(Self.noteLines).map { $0.cut(to: max(18, width - margin.count - 2)) }
    let isCut = all.count > shown.count
    return shown.enumerated().map { index, text in
      margin + style.paint(isCut && index == shown.count - 1 ? "\(text) …" : text, row.colour)
    }
  }

  private var legend: [String] {
    let used = Set(rows.flatMap(\.marks).filter { $0.time.duration > .zero }.map(\.glyph))
    let words = WaterfallRow.Glyph.allCases.compactMap { glyph in
      used.contains(glyph) ? glyph.meaning.map { "\(glyph.rawValue) \($0)" } : nil
    }
    guard layout.bar > 0, !words.isEmpty else { return [] }
    return [""] + words.joined(separator: "   ").wrapped(to: width).map { style.paint($0, .grey) }
  }

  // MARK: Bars

  /// The bar of a row. Every section takes at least one cell. If several sections share a cell, the one with the
  /// largest part of it is shown.
  func bar(_ row: WaterfallRow, _ cells: Int) -> String {
    guard cells > 0 else { return "" }
    var shares = [Duration](repeating: .zero - .nanoseconds(1), count: cells)
    var bar = [Character](repeating: " ", count: cells)
    for mark in row.marks {
      for cell in range(mark.time, cells) {
        let share = mark.time.overlap(self.cell(cell, of: cells))
        guard share > shares[cell] else { continue }
        (shares[cell], bar[cell]) = (share, mark.glyph.rawValue)
      }
    }
    if row.isOpen, let end = row.end { bar[range(Interval(from: end, to: end), cells).lowerBound] = "►" }
    return String(bar)
  }

  private func range(_ time: Interval, _ cells: Int) -> ClosedRange<Int> {
    let length = max(1, Double(whole.duration.nanoseconds))
    func place(_ time: Timestamp) -> Double {
      min(Double(cells), Double(offset(time).nanoseconds) / length * Double(cells))
    }
    let first = min(cells - 1, Int(place(time.from)))
    return first...max(first, Int(place(time.to).rounded(.up)) - 1)
  }

  private func cell(_ index: Int, of cells: Int) -> Interval {
    Interval(
      from: whole.from + whole.duration * index / cells, to: whole.from + whole.duration * (index + 1) / cells)
  }
}
