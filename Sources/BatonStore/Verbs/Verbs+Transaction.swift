internal import GRDB
internal import GRDBSQLite

/// How an attempt to write a group ended. Unless it was committed, it was rolled back.
enum Attempt {
  case committed
  /// The operation at this index threw after it had changed something.
  case disturbed(Int)
  /// Nothing was written: the disk is full, or the one operation threw.
  case refused(StoreError)
  /// Nothing may be written until the store is opened again: the disk failed, and whether the group is there is unknown,
  /// or another process has the store, and the group is not there.
  case failed(StoreError)
}

extension Verbs {
  /// Runs the operations in one transaction. One that throws before it changed a row is given its error, and the
  /// others go on.
  func attempt(_ group: [any Operation]) -> Attempt {
    var current = 0
    return attempt { verbs in
      for (index, operation) in group.enumerated() {
        current = index
        try verbs.runUnharmed(operation)
      }
    } thrown: { _ in
      .disturbed(current)
    }
  }

  /// Runs one operation in its own transaction; what it threw comes back as `.refused`.
  func attemptAlone(_ operation: any Operation) -> Attempt {
    attempt {
      try operation.run($0)
    } thrown: {
      .refused(StoreError(anything: $0))
    }
  }

  /// A transaction around `body`, or its error and a rollback.
  package func transaction(_ body: (Verbs) throws -> Void) throws {
    try prepare(.begin).run()
    do {
      try body(self)
      try flush()
      try prepare(.commit).run()
    } catch {
      rollBack()
      throw StoreError(anything: error)
    }
  }

  private func attempt(_ body: (Verbs) throws -> Void, thrown: (any Error) -> Attempt) -> Attempt {
    var isCommitting = false
    do {
      try prepare(.begin).run()
      try demandTenure()
      let changes = sqlite3_total_changes(db.sqliteConnection)
      try body(self)
      try flush()
      try countCommit(since: changes)
      isCommitting = true
      try prepare(.commit).run()
      noteCommit()
      return .committed
    } catch {
      rollBack()
      return fate(of: error, isCommitting: isCommitting) ?? thrown(error)
    }
  }

  /// Nil for an error that is the operation's own.
  private func fate(of error: any Error, isCommitting: Bool) -> Attempt? {
    if let error = error as? StoreError, error.code == .superseded { return .failed(error) }
    guard let error = error as? DatabaseError else { return nil }
    switch error.resultCode {
    case .SQLITE_FULL: return .refused(StoreError(error))
    case .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB: return .failed(StoreError(error))
    default: return isCommitting ? .failed(StoreError(error)) : nil
    }
  }

  private func runUnharmed(_ operation: any Operation) throws {
    let before = sqlite3_total_changes(db.sqliteConnection)
    do {
      try operation.run(self)
    } catch let error as StoreError where sqlite3_total_changes(db.sqliteConnection) == before {
      operation.fail(error)
    }
  }

  /// Also where SQLite has rolled back by itself, as it does when a disk is full.
  private func rollBack() {
    if sqlite3_get_autocommit(db.sqliteConnection) == 0 {
      do { try prepare(.rollback).run() } catch {
        preconditionFailure("a transaction could not be rolled back: \(error)")
      }
    }
    forget()
  }
}

extension Query {
  static let begin = Query("BEGIN IMMEDIATE")
  static let commit = Query("COMMIT")
  static let rollback = Query("ROLLBACK")
}
