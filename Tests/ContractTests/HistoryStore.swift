import BatonPostgres

@testable import BatonStore

/// A store on which histories run. Every call blocks, because a history has no concurrency.
protocol HistoryStore: Sendable {
  func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value
  /// Runs `body`, which only reads.
  func reading<Value>(_ body: (Verbs) throws -> Value) throws -> Value
}

extension SQLiteStore: HistoryStore {
  func reading<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try transaction(body) }
}

extension PostgresStore: HistoryStore {
  func reading<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try readNow(body) }

  /// Opens a store on the server of the tests, which writes nothing to the disk in time.
  static func open(_ address: String) throws -> PostgresStore {
    var limits = PostgresLimits()
    (limits.demandsDurability, limits.readers) = (false, 1)
    return try open(try PostgresAddress(address), postgres: limits)
  }
}
