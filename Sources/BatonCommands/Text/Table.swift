/// One cell of a table.
struct Cell: Hashable, Sendable, ExpressibleByStringLiteral {
  var text: String
  var colour: Style.Colour?

  init(_ text: String, _ colour: Style.Colour? = nil) {
    self.text = text.onOneLine
    self.colour = colour
  }

  init(stringLiteral text: String) { self.init(text) }
}

/// Writes rows in aligned columns, a page at a time: columns that a page made wide stay wide, so that a list of any
/// length needs the memory of one page.
struct TablePrinter {
  struct Column: Hashable, Sendable {
    var title: String
    var isNumber: Bool

    init(_ title: String, isNumber: Bool = false) {
      self.title = title
      self.isNumber = isNumber
    }
  }

  private static let gap = 2
  /// No column is cut below this to make a table fit a terminal.
  private static let narrowest = 6

  private let columns: [Column]
  private let style: Style
  /// Columns of the terminal; nil cuts nothing.
  private let width: Int?
  private var widths: [Int]
  private var hasHeader = false

  init(_ columns: [Column], style: Style = .plain, width: Int? = nil) {
    self.columns = columns
    self.style = style
    self.width = width
    widths = columns.map(\.title.columns)
  }

  /// The lines of these rows, after the titles if they are the first; nothing for no rows.
  mutating func page(_ rows: [[Cell]]) -> [String] {
    guard !rows.isEmpty else { return [] }
    for row in rows {
      for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.text.columns) }
    }
    let fitted = fittedWidths()
    let header = hasHeader ? [] : [style.bold(line(columns.map { Cell($0.title) }, fitted))]
    hasHeader = true
    return header + rows.map { line($0, fitted) }
  }

  /// All at once.
  static func lines(_ columns: [Column], _ rows: [[Cell]], style: Style = .plain, width: Int? = nil) -> [String] {
    var printer = TablePrinter(columns, style: style, width: width)
    return printer.page(rows)
  }

  private func line(_ row: [Cell], _ widths: [Int]) -> String {
    var line = ""
    for (index, cell) in row.enumerated() {
      let text = cell.text.cut(to: widths[index])
      let isLast = index == row.count - 1
      let padding = String(repeating: " ", count: max(0, widths[index] - text.columns))
      if columns[index].isNumber { line += padding }
      line += style.paint(text, cell.colour)
      if !columns[index].isNumber, !isLast { line += padding }
      if !isLast { line += String(repeating: " ", count: Self.gap) }
    }
    return line.trimmingTrailingSpaces
  }

  /// Takes what a terminal has too little of from the last column first, then from the widest.
  private func fittedWidths() -> [Int] {
    guard let width else { return widths }
    var fitted = widths
    var excess = fitted.reduce(0, +) + Self.gap * (fitted.count - 1) - width
    let order = [fitted.count - 1] + fitted.indices.dropLast().sorted { fitted[$0] > fitted[$1] }
    for index in order where excess > 0 {
      let taken = min(excess, max(0, fitted[index] - max(Self.narrowest, index == 0 ? columns[0].title.columns : 0)))
      fitted[index] -= taken
      excess -= taken
    }
    return fitted
  }
}

extension String {
  fileprivate var trimmingTrailingSpaces: String {
    guard hasSuffix(" ") else { return self }
    var text = self
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}
