import BatonModel

/// One cell of a table. Its text is made plain, so that it cannot act on the terminal.
struct Cell: Hashable, Sendable, ExpressibleByStringLiteral {
  var text: String
  var colour: Style.Colour?

  init(_ text: String, _ colour: Style.Colour? = nil) {
    self.text = text.onOneLine
    self.colour = colour
  }

  init(stringLiteral text: String) { self.init(text) }
}

/// Writes rows in aligned columns, a page at a time. It keeps the widths of the columns from page to page, and not the
/// rows, so that a list of any length needs the memory of one page.
struct TablePrinter {
  struct Column: Hashable, Sendable {
    var title: String
    var isNumber: Bool
    /// If the terminal is too narrow, columns are left out, the lowest rank first. A column with the rank `nil`
    /// always stays.
    var rank: Int?

    init(_ title: String, isNumber: Bool = false, rank: Int? = nil) {
      self.title = title
      self.isNumber = isNumber
      self.rank = rank
    }
  }

  private static let gap = 2
  /// The width in columns below which no column is cut to make a table fit.
  private static let narrowest = 10

  private let columns: [Column]
  private let style: Style
  /// The width of the terminal in columns; `nil` means that nothing is cut.
  private let width: Int?
  private var widths: [Int]
  /// The indices of the columns that are shown. The first page decides on them.
  private var shown: [Int]?

  init(_ columns: [Column], style: Style = .plain, width: Int? = nil) {
    self.columns = columns
    self.style = style
    self.width = width
    widths = columns.map(\.title.columns)
  }

  /// The lines of these rows; before the rows of the first page, a line with the titles. Empty if there are no rows.
  mutating func page(_ rows: [[Cell]]) -> [String] {
    guard !rows.isEmpty else { return [] }
    for row in rows {
      for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.text.columns) }
    }
    let isFirst = shown == nil
    let places = shown ?? fittingColumns()
    shown = places
    let fitted = fittedWidths(of: places)
    let header = isFirst ? [style.bold(line(columns.map { Cell($0.title) }, places, fitted))] : []
    return header + rows.map { line($0, places, fitted) }
  }

  /// The lines of a table that is written at once.
  static func lines(_ columns: [Column], _ rows: [[Cell]], style: Style = .plain, width: Int? = nil) -> [String] {
    var printer = TablePrinter(columns, style: style, width: width)
    return printer.page(rows)
  }

  private func line(_ row: [Cell], _ places: [Int], _ widths: [Int]) -> String {
    var line = ""
    for index in places {
      let cell = row[index]
      let text = cell.text.cut(to: widths[index])
      let isLast = index == places.last
      let padding = String(repeating: " ", count: max(0, widths[index] - text.columns))
      if columns[index].isNumber { line += padding }
      line += style.paint(text, cell.colour)
      if !columns[index].isNumber, !isLast { line += padding }
      if !isLast { line += String(repeating: " ", count: Self.gap) }
    }
    return line.withoutTrailingSpaces
  }

  /// The columns that fit: leaves columns out until the others fit, where the last column may be cut to `narrowest`.
  private func fittingColumns() -> [Int] {
    var places = Array(columns.indices)
    guard let width else { return places }
    let leaving = places.filter { columns[$0].rank != nil }.sorted { columns[$0].rank ?? 0 < columns[$1].rank ?? 0 }
    for index in leaving {
      let last = places.last.map { max(0, widths[$0] - Self.narrowest) } ?? 0
      guard excess(of: places, over: width) > last else { break }
      places.removeAll { $0 == index }
    }
    return places
  }

  private func excess(of places: [Int], over width: Int) -> Int {
    places.reduce(0) { $0 + widths[$1] } + Self.gap * (places.count - 1) - width
  }

  /// The widths that fit the terminal: the last column is cut first, then the others, the widest first.
  private func fittedWidths(of places: [Int]) -> [Int] {
    guard let width else { return widths }
    var fitted = widths
    var excess = excess(of: places, over: width)
    for index in places.suffix(1) + places.dropLast().sorted(by: { widths[$0] > widths[$1] }) where excess > 0 {
      let taken = min(excess, max(0, fitted[index] - Self.narrowest))
      fitted[index] -= taken
      excess -= taken
    }
    return fitted
  }
}

extension String {
  var withoutTrailingSpaces: String {
    var text = self
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}
