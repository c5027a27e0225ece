internal import BatonModel

extension StoreMove {
  /// Copies all tables, and compares them with what can be read back.
  static func transfer(
    _ shapes: [TableShape], from source: some TablesOfMove, to target: some TablesOfMove, _ course: MoveCourse
  ) throws -> Summary {
    var summary = Summary()
    var sums: [String: TableSum] = [:]
    course.begin(totalRows: try shapes.reduce(0) { try $0 + source.count($1) })
    for shape in shapes {
      let sum = try copy(shape, from: source, to: target, course)
      sums[shape.name] = sum
      summary.rows += sum.rows
      if shape.name == "request" { summary.requests = sum.rows }
    }
    try course.reached(.copied)
    for shape in shapes {
      var sum = TableSum()
      try target.read(shape) { rows in
        for row in rows { sum.add(row) }
        try course.advance(rows.count, of: shape.name)
      }
      guard sum == sums[shape.name] else {
        throw StoreError(
          .corrupt,
          "The copy of the table \(shape.name) is not what was copied (\(sum.rows) rows of "
            + "\(sums[shape.name]?.rows ?? 0)). The store is as it was.")
      }
    }
    return summary
  }

  private static func copy(
    _ shape: TableShape, from source: some TablesOfMove, to target: some TablesOfMove, _ course: MoveCourse
  ) throws -> TableSum {
    var sum = TableSum()
    try target.empty(shape)
    try source.read(shape) { rows in
      let rows = rows.map { shape.moved($0) }
      for row in rows { sum.add(row) }
      try target.insert(rows, shape)
      try course.advance(rows.count, of: shape.name)
    }
    return sum
  }
}

/// The tables of one side of a move.
protocol TablesOfMove {
  /// How many rows the table has.
  func count(_ table: TableShape) throws -> Int
  /// Calls `body` with all rows, some thousand at a time.
  func read(_ table: TableShape, _ body: ([[Cell]]) throws -> Void) throws
  func insert(_ rows: [[Cell]], _ table: TableShape) throws
  /// Deletes the rows with which an empty store begins.
  func empty(_ table: TableShape) throws
}

/// The number of rows of a table, and a sum of them that does not depend on their order.
struct TableSum: Hashable {
  private(set) var rows = 0
  private(set) var sum: UInt64 = 0

  /// Adds the hash of a row: FNV-1a with 64 bits over the type and the bytes of each value, mixed as by SplitMix64.
  mutating func add(_ row: [Cell]) {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    func mix(_ number: UInt64) {
      hash = (hash ^ number) &* 0x9e37_79b9_7f4a_7c15
      hash ^= hash >> 29
    }
    for cell in row {
      switch cell {
      case .null: mix(UInt8(0))
      case .integer(let value):
        mix(UInt8(1))
        mix(UInt64(bitPattern: value))
      case .text(var value):
        mix(UInt8(2))
        mix(UInt64(value.utf8.count))
        value.withUTF8 { for byte in $0 { mix(byte) } }
      case .blob(let value):
        mix(UInt8(3))
        mix(UInt64(value.count))
        for byte in value { mix(byte) }
      }
    }
    hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
    sum &+= hash ^ (hash >> 27)
    rows += 1
  }
}

extension TableShape {
  /// A row as the copy has it: no coordinator of the store lives, and no text has U+0000, which PostgreSQL does not
  /// store.
  fileprivate func moved(_ row: [Cell]) -> [Cell] {
    var row = row
    for (column, cell) in row.enumerated() {
      if case .text(let text) = cell, text.utf8.contains(0) { row[column] = .text(text.withoutNUL) }
    }
    if name == "coordinator", let isEnded = columns.firstIndex(of: "is_ended") { row[isEnded] = .integer(1) }
    return row
  }
}
