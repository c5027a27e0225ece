package import BatonStore

/// The promises that every store has to keep, as cases that run against any implementation. A case that returns has
/// passed; a case that throws says which promise was broken.
///
/// ```
/// for promise in StoreConformance.cases {
///   try await promise.run { try SQLiteStore.inMemory(limits: StoreConformance.limits, queuesSpans: $0) }
/// }
/// ```
package struct StoreConformance {
  /// One promise, with the code that tests it.
  package struct Case: Sendable, CustomStringConvertible {
    /// The promise in words.
    package let name: String
    /// The promises of the contract that this case tests for a store, for example `28.1` for the first promise of row
    /// 28.
    package let rows: [Double]
    /// Whether the store of this case queues spans.
    let queuesSpans: Bool
    private let body: @Sendable (inout StoreScenario) async throws -> Void

    init(
      _ name: String, rows: [Double] = [], queuesSpans: Bool = false,
      _ body: @escaping @Sendable (inout StoreScenario) async throws -> Void
    ) {
      self.name = name
      self.rows = rows
      self.queuesSpans = queuesSpans
      self.body = body
    }

    package var description: String { name }

    /// Runs the case against a new store. Throws `Violation` if the promise is broken.
    /// - Parameter makeStore: makes a new, empty store with the limits `StoreConformance.limits`, which queues spans if
    ///   its argument is true.
    package func run(_ makeStore: (_ queuesSpans: Bool) async throws -> any Store) async throws {
      var scenario = StoreScenario(try await makeStore(queuesSpans))
      do {
        try await body(&scenario)
        try await scenario.expectNamespacesAreRight()
      } catch let error as Violation { throw error } catch {
        throw Violation(description: "\(name): the store threw \(error)")
      }
    }
  }

  /// A promise that was broken.
  package struct Violation: Error, CustomStringConvertible {
    package let description: String
  }

  /// All cases, in the order of their groups.
  package static let cases: [Case] =
    definitions + submitting + waiting + failing + clocks + dates + repeating + calendar + pausing + backfilling
    + chains + pokes + pokeSpacing
    + refreshing + dispatching + evictions + simulating + checkpoints + endings + allowances + items + hosts
    + using + cancelling + retrying + followingUp + flows + results + redefining + rescheduling + reading + narrowing
    + explaining
    + retention + spans
    + receipts
    + workers
    + identities + operators + spreading + shardReasons + spreadRules + histories + namespaces + transfers
    + notifications + limitsByKey
}

/// Throws a violation unless both values are equal.
func expect<Value: Equatable>(
  _ found: Value, _ wanted: Value, _ what: String, line: Int = #line, file: String = #fileID
) throws {
  guard found == wanted else {
    throw StoreConformance.Violation(description: "\(what): found \(found), wanted \(wanted) (\(file):\(line))")
  }
}

/// Throws a violation unless `condition` is true.
func expect(_ condition: Bool, _ what: String, line: Int = #line, file: String = #fileID) throws {
  guard condition else { throw StoreConformance.Violation(description: "\(what) (\(file):\(line))") }
}

/// Returns the value, or throws a violation that says what was missing.
func require<Value>(_ value: Value?, _ what: String, line: Int = #line, file: String = #fileID) throws -> Value {
  guard let value else { throw StoreConformance.Violation(description: "\(what): nothing (\(file):\(line))") }
  return value
}

/// Throws a violation unless `body` throws a `StoreError` of `code` whose message contains all of `words`.
func expectRefusal(
  _ code: StoreError.Code, saying words: [String] = [], line: Int = #line, file: String = #fileID,
  _ body: () async throws -> Void
) async throws {
  do {
    try await body()
  } catch let error as StoreError {
    try expect(error.code, code, "the code of \"\(error)\"", line: line, file: file)
    for word in words {
      try expect(error.message.contains(word), "\"\(error)\" does not say \"\(word)\"", line: line, file: file)
    }
    return
  }
  throw StoreConformance.Violation(description: "nothing was refused, wanted \(code) (\(file):\(line))")
}
