internal import BatonModel
internal import GRDB
internal import GRDBSQLite

/// How an attempt to write a group ended. In every case except `committed` the transaction was rolled back.
enum Attempt {
  case committed
  /// The operation at this index threw an error after it had changed something.
  case disturbed(Int)
  /// Nothing was written: the disk is full, or the only operation threw an error.
  case refused(StoreError)
  /// Nothing was written, because other groups changed the same rows first, too often.
  case conflicted
  /// Nothing may be written until the store is opened again. Either the disk failed, and it is unknown whether the
  /// group was written; or another process has the store, and the group was not written.
  case failed(StoreError)
}

extension Verbs {
  /// Runs the operations in one transaction. If an operation throws before it has changed a row, it keeps its error as
  /// its answer and the other operations continue.
  func attempt(_ group: [any Operation]) -> Attempt {
    var current = 0
    return attempt { verbs in
      for (index, operation) in group.enumerated() {
        current = index
        try verbs.runUnharmed(operation)
      }
      if verbs.held?.missing.isEmpty == false { throw MissingRows() }
    } thrown: { _ in
      .disturbed(current)
    }
  }

  /// Runs one operation in its own transaction. An error that it throws is returned as `.refused`.
  func attemptAlone(_ operation: any Operation) -> Attempt {
    attempt {
      try operation.run($0)
    } thrown: {
      .refused(StoreError(anything: $0))
    }
  }

  /// Runs `body` in a transaction, as `attempt` does. If it throws, the transaction is rolled back and the error is
  /// thrown as a `StoreError`.
  package func transaction(_ body: (Verbs) throws -> Void) throws {
    do {
      try prepare(.begin).run()
      try runCounted(body)
      try prepare(.commit).run()
      noteCommit()
    } catch {
      rollBack()
      throw StoreError(anything: noteHistory(error))
    }
  }

  /// Runs `body` after a look at the tenure, writes back what it has counted, and counts the commit.
  private func runCounted(_ body: (Verbs) throws -> Void) throws {
    beginAnew()
    try demandTenure()
    let before = writes
    try body(self)
    try flush()
    if writes != before { try countCommit() }
  }

  /// If the store went backwards, gives it another name and pauses the fleet, in a transaction of its own: nothing that
  /// is missing may run again before a person has looked (promise P12).
  private func noteHistory(_ error: any Error) -> any Error {
    guard let tenure, (error as? StoreError)?.code == .wentBackwards else { return error }
    do {
      try prepare(.begin).run()
      _ = try renewIncarnation(of: tenure.receipt.store, as: tenure.nextStore)
      try prepare(.commit).run()
      return error
    } catch {
      rollBack()
      return error
    }
  }

  /// Runs `body` in a transaction that checks the tenure first and counts the commit last.
  /// - Parameter thrown: the result for an error that `body` threw and that is not an error of the disk.
  private func attempt(_ body: (Verbs) throws -> Void, thrown: (any Error) -> Attempt) -> Attempt {
    var isCommitting = false
    do {
      try prepare(.begin).run()
      try runCounted(body)
      isCommitting = true
      try prepare(.commit).run()
      noteCommit()
      return .committed
    } catch {
      rollBack()
      let error = noteHistory(error)
      return fate(of: error, isCommitting: isCommitting) ?? thrown(error)
    }
  }

  /// What an error means for the whole group; `nil` if it is an error of the operation itself.
  private func fate(of error: any Error, isCommitting: Bool) -> Attempt? {
    if let error = error as? StoreError, [.superseded, .wentBackwards].contains(error.code) { return .failed(error) }
    guard let error = error as? DatabaseError else { return nil }
    switch error.resultCode {
    case .SQLITE_FULL: return .refused(StoreError(error))
    case .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB: return .failed(StoreError(error))
    default: return isCommitting ? .failed(StoreError(error)) : nil
    }
  }

  /// Runs an operation. If it throws a `StoreError` before its first statement that changes rows, the error becomes its
  /// answer. If it needs rows that are not loaded, the group will begin again, and the operations after it run
  /// nevertheless, as in `each`. Every other error is thrown.
  private func runUnharmed(_ operation: any Operation) throws {
    let before = writes
    do {
      _ = try unlessRowsAreMissing { try operation.run(self) }
    } catch let error as StoreError where writes == before {
      operation.fail(error)
    }
  }

  /// - Returns: `nil` if `body` needs rows that are not loaded. The group will begin again, so it does not matter that
  ///   everything is gone which it has changed: what runs after `body` finds the rows as they were loaded.
  func unlessRowsAreMissing<Answer>(_ body: () throws -> Answer) throws -> Answer? {
    let before = writes
    do {
      return try body()
    } catch is MissingRows {
      if writes != before {
        endTransaction()
        forgetRows()
        try prepare(.begin).run()
      }
      return nil
    }
  }

  /// Rolls back the transaction, if SQLite has not done so by itself, as it does when the disk is full. Then forgets
  /// what the transaction counted.
  private func rollBack() {
    endTransaction()
    forget()
  }

  private func endTransaction() {
    if sqlite3_get_autocommit(db.sqliteConnection) == 0 {
      do { try prepare(.rollback).run() } catch {
        preconditionFailure("a transaction could not be rolled back: \(error)")
      }
    }
  }
}

extension Query {
  static let begin = Query("BEGIN IMMEDIATE")
  static let commit = Query("COMMIT")
  static let rollback = Query("ROLLBACK")
}
