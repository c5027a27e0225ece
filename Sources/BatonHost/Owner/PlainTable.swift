import BatonModel

/// Formats rows in aligned columns with two spaces between them, for a terminal or a pipe. Cells are never cut.
struct PlainTable: Hashable, Sendable {
  struct Column: Hashable, Sendable {
    var title: String
    /// The column is aligned to the right.
    var isNumber = false
  }

  let columns: [Column]
  var rows: [[String]] = []

  init(_ columns: [Column], _ rows: [[String]]) {
    self.columns = columns
    self.rows = rows.map { $0.map(\.onOneLine) }
  }

  /// The lines of the table, starting with the titles.
  var lines: [String] {
    let all = [columns.map(\.title)] + rows
    let widths = columns.indices.map { index in all.map { $0[index].count }.max() ?? 0 }
    return all.map { row in
      let cells = columns.indices.map { index in
        let spaces = String(repeating: " ", count: widths[index] - row[index].count)
        return columns[index].isNumber ? spaces + row[index] : row[index] + spaces
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}
