internal import BatonModel

/// Finds, locks and loads the rows of the keys of a group. It needs few exchanges with the database, however many keys
/// there are: one that finds the rows, one that locks and loads them, and one or two that load what belongs to rows
/// which only the loading has found. If earlier groups have met the rows (`RowMemory`), the first two are one.
struct RowLoader {
  private let source: any RowSource
  let catalog: RowCatalog
  let memory: RowMemory
  let keys: Set<RowKey>
  let epoch: Int64?
  var held: HeldRows
  private(set) var locks: Set<RowLock> = []
  /// The questions of the next exchange, and what takes their answers.
  private var questions: [(RowQuestion, (inout RowLoader, [[Cell]]) -> Void)] = []
  // What is wanted, by the numbers of rows. `identifiers` are locked, and so are those of `hosts` that keys name;
  // `requests` may be loaded only, and so are `loose` identifiers.
  var identifiers = Wanted()
  var loose = Wanted()
  var hosts = Wanted()
  var requests = Wanted()
  var definitions = Wanted()
  var payloads = Wanted()
  /// Members of flows, of which the dependencies are loaded too.
  var members: Set<Int64> = []
  /// Requests that have no launch.
  var neverLaunched: Set<Int64> = []
  /// How many of the identifiers that the keys name have no row.
  var newNames = 0
  var patterns: Set<Int64> = []
  private var rows: Rows = [:]

  /// Numbers of rows, and which of them were asked for.
  struct Wanted {
    private(set) var all: Set<Int64> = []
    private var new: [Int64] = []

    mutating func insert(_ id: Int64) { if all.insert(id).inserted { new.append(id) } }
    mutating func formUnion(_ ids: some Sequence<Int64>) { for id in ids { insert(id) } }
    /// Those that were not taken yet. They count as asked for.
    mutating func takeNew() -> [Int64] {
      defer { new = [] }
      return new
    }
    /// The row came with another one, and need not be asked for.
    mutating func noteLoaded(_ id: Int64) {
      if !all.insert(id).inserted { new.removeAll { $0 == id } }
    }
  }

  /// - Parameter epoch: the tenure whose row is locked first; `nil` for a coordinator that is about to begin one.
  private init(
    _ keys: [RowKey], epoch: Int64?, numbers: any RowNumbers, from source: any RowSource, _ memory: RowMemory
  ) {
    (self.source, self.keys, self.epoch, self.memory) = (source, Set(keys), epoch, memory)
    catalog = source.catalog
    held = HeldRows(numbers: numbers)
    held.keys = self.keys
  }

  /// Locks and loads the rows of the keys.
  /// - Returns: `nil` if another group has locked one of them, and the source does not wait.
  /// - Throws: `RowsChanged` if the group has to begin again, because other rows have to be locked than those that
  ///   were found.
  static func load(
    _ keys: [RowKey], epoch: Int64?, numbers: any RowNumbers, from source: any RowSource, _ memory: RowMemory
  ) throws -> (held: HeldRows, rows: Rows)? {
    var loader = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, memory)
    if loader.canGuess {
      do {
        if let guess = loader.guess() { return try loader.finish(guess) }
      } catch is RowsChanged {
        try source.beginAgain()
      }
      loader = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, memory)
    }
    try loader.find()
    if keys.contains(where: \.namesManyRows) {
      guard try loader.exchange(locking: loader.locks) != nil else { return nil }
      // Until the rows were locked, another group could add to those that these keys name.
      var again = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, memory)
      try again.find()
      guard again.locks.isSubset(of: loader.locks) else { throw RowsChanged() }
      loader = again
    }
    return try loader.finish()
  }

  /// Finds the rows that have to be locked.
  private mutating func find() throws {
    let named = askWhatToLock()
    lookUp(named)
    try exchange()
  }

  /// Locks the rows that were found or guessed, and loads everything.
  private mutating func finish(_ guess: GuessedRows? = nil) throws -> (held: HeldRows, rows: Rows)? {
    let found = locks
    let classes = wantedClasses
    askWhatIsLoaded()
    guard let answer = try exchange(locking: found, free: wantedFree(classes)) else { return nil }
    // A name that was taken for new was looked up too.
    guard locks.isSubset(of: found), guess.map(isRight) != false else { throw RowsChanged() }
    takeFree(answer.free, classes)
    while askWhatIsNew() { try exchange() }
    return (held, rows)
  }

  mutating func lock(_ table: RowLock.Table, _ id: Int64) { locks.insert(RowLock(table: table, id: id)) }

  // MARK: Questions

  mutating func ask(_ question: RowQuestion, _ take: @escaping (inout RowLoader, [[Cell]]) -> Void) {
    questions.append((question, take))
  }

  /// Asks for numbers.
  mutating func askNumbers(_ question: RowQuestion, _ take: @escaping (inout RowLoader, [Int64]) -> Void) {
    ask(question) { take(&$0, $1.map { $0[0].number }) }
  }

  /// Asks for rows of a table, which are kept. `condition` has the parameters of the question.
  mutating func load(
    _ table: String, _ condition: String, _ parameters: RowParameter...,
    then take: @escaping (inout RowLoader, [[Cell]]) -> Void = { _, _ in }
  ) {
    let shape = catalog[table]
    ask(RowQuestion(rowsOf: table, condition, parameters)) { loader, found in
      loader.keep(found, of: shape)
      take(&loader, found)
    }
  }

  func column(_ name: String, of table: String) -> Int {
    guard let position = catalog[table].columns.firstIndex(of: name) else {
      preconditionFailure("the table \(table) has no column \(name)")
    }
    return position
  }

  var hasQuestions: Bool { !questions.isEmpty }

  /// The value of a column of a row that was loaded; `nil` if there is no such row.
  func loaded(_ column: String, _ id: Int64, of table: String) -> Cell? {
    rows[catalog[table]]?[.number(id)]?[self.column(column, of: table)]
  }

  /// A row that was loaded; `nil` if there is no such row.
  func row(_ id: Int64, of table: String) -> [Cell]? { rows[catalog[table]]?[.number(id)] }

  mutating func keep(_ found: [[Cell]], of shape: TableShape) {
    if found.isEmpty { return }
    // Taken out of the dictionary, so that it is changed in place.
    var table = rows.removeValue(forKey: shape) ?? [:]
    table.reserveCapacity(table.count + found.count)
    for row in found { table[shape.id(of: row)] = row }
    rows[shape] = table
  }

  /// Asks all questions in one exchange, and keeps the rows that it locks.
  /// - Returns: `nil` if another group has locked one of `locks`, and the source does not wait.
  @discardableResult
  private mutating func exchange(
    locking locks: Set<RowLock> = [], free: [(question: RowQuestion, limit: Int)] = []
  ) throws -> RowExchange.Answer? {
    let asked = questions
    questions = []
    guard !asked.isEmpty || !locks.isEmpty || !free.isEmpty else { return RowExchange.Answer() }
    let exchange = RowExchange(locks: locks, free: free, questions: asked.map(\.0))
    guard let answer = try source.answer(exchange) else { return nil }
    for (table, rows) in answer.locked {
      guard let name = table.tableName else { continue }
      keep(rows, of: catalog[name])
      take(rows, of: table)
    }
    for ((_, take), rows) in zip(asked, answer.rows) { take(&self, rows) }
    return answer
  }
}

/// Thrown if the rows that have to be locked are others than those that were found or guessed.
struct RowsChanged: Error {}

extension RowKey {
  /// Whether other groups can change which rows the key names, until the rows are locked.
  var namesManyRows: Bool {
    switch self {
    case .everything, .tenures, .launchesOn, .transfersOn, .unfinished, .unfinishedOf, .orphans, .shards, .allShards,
      .flow, .dependents:
      true
    case .identifier, .identifierOf, .request, .progress, .payload, .history, .launches, .lastItems, .items, .output,
      .spans, .spread, .transfers, .openTransfersOn, .dependencies, .result, .inputs,
      .ready, .due, .exampleOf, .pattern, .lockedPattern, .patternNamed, .definition, .versions, .allDefinitions,
      .namespaces, .lockedNamespace, .allRunning, .host, .hostRow, .conditions,
      .submission, .oldestSubmissions, .identities, .credentials, .audit, .oldAudit, .notifications, .limits,
      .idleLimits, .waiting:
      false
    }
  }

  /// Whether the rows are looked up before they are locked, also those that earlier groups have found.
  var cannotBeGuessed: Bool { if case .patternNamed = self { true } else { namesManyRows } }
}
