import BatonPostgres
import Foundation
import Synchronization

@testable import BatonStore

/// A session in a database beside those of its stores: it changes what a test needs, holds rows, and sees who waits.
final class Bystander: Sendable {
  private let connection: Mutex<PostgresConnection>

  init(_ address: PostgresAddress) throws {
    connection = Mutex(try PostgresConnection.connect(to: address, deadline: Self.deadline))
  }

  /// A session with the settings of a store.
  init(likeAStoreIn address: PostgresAddress) throws {
    connection = Mutex(try PostgresServer(address: address, limits: TestDatabase.limits).connect())
  }

  private static var deadline: ContinuousClock.Instant { .now + .seconds(60) }

  func close() { connection.withLock { $0.close() } }

  /// Runs statements without parameters.
  func run(_ script: String) throws {
    try connection.withLock { try $0.script(script, deadline: Self.deadline) }
  }

  func run(_ statements: [PostgresStatement]) throws {
    try connection.withLock { _ = try $0.run(statements, deadline: Self.deadline) }
  }

  /// The rows of a query.
  func cells(_ sql: String) throws -> [[Cell]] {
    try connection.withLock { try $0.run(PostgresStatement(sql), deadline: Self.deadline).cells }
  }

  /// The number that a query answers.
  func number(_ sql: String) throws -> Int64 { try cells(sql).first?.first?.number ?? 0 }

  /// How many sessions of this database wait for a row or for an advisory lock.
  func waiting() throws -> Int64 {
    try number(
      """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND wait_event IN ('transactionid', 'tuple', 'advisory')
      """)
  }

  /// Waits until `condition` holds. Nothing tells a session that another one waits, so this asks again and again.
  /// - Throws: if it does not hold after a minute.
  func wait(until condition: () throws -> Bool) throws {
    let deadline = Self.deadline
    while try !condition() {
      guard ContinuousClock.now < deadline else { throw CocoaError(.userCancelled) }
      sched_yield()
    }
  }

  /// Waits until so many sessions wait for a lock.
  func waitUntilBlocked(_ count: Int64 = 1) throws { try wait { try waiting() >= count } }

  /// The number of deadlocks in the database. Call it after the stores are closed: sessions report when they end.
  func deadlocks() throws -> Int64 {
    try wait {
      try number(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == 0
    }
    return try number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
  }
}

/// What a thread of its own answers.
final class Late<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let end = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Value) {
    Thread { [self] in
      let answer = body()
      value.withLock { $0 = answer }
      end.signal()
    }.start()
  }

  var isDone: Bool { value.withLock { $0 != nil } }

  /// Waits for the answer.
  func answer() -> Value {
    end.wait()
    end.signal()
    return value.withLock { $0! }
  }
}
