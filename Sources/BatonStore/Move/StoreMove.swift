internal import BatonBase
internal import BatonModel
internal import BatonPostgres
internal import GRDB

/// Moves a store from a folder to PostgreSQL or back: the store of stopped coordinators, or that of the coordinator
/// that carries the move out (`Store.move`).
///
/// 1. The copy is made from one snapshot. It is compared with the store: rows and a sum of each table, and what holds
///    between tables. Nothing is written to the store meanwhile.
/// 2. The copy is committed with the mark *arriving*: no coordinator starts on it.
/// 3. The store gets the mark *moved*, durably. This is the point of no return: no coordinator starts on it any more.
/// 4. The copy loses its mark.
///
/// A move that was killed before the third step has changed nothing, and the next one makes a new copy. A move that was
/// killed after it is finished by the next one, or by the next start of the coordinator (`present`). At no time can
/// coordinators start on both.
package enum StoreMove {
  /// What a move has done, in this order.
  package enum Step: String, Hashable, Sendable, CaseIterable {
    case copied, verified, arrived, left, live
  }

  /// How far a move is.
  package struct Progress: Hashable, Sendable {
    /// The last step that was done; `nil` while rows are copied.
    package var reached: Step?
    /// The table that is copied or compared; empty between two tables.
    package var table = ""
    /// How many rows of all tables were copied so far, or compared after all were copied.
    package var rows = 0
    package var totalRows = 0

    package init(reached: Step? = nil, table: String = "", rows: Int = 0, totalRows: Int = 0) {
      (self.reached, self.table, self.rows, self.totalRows) = (reached, table, rows, totalRows)
    }
  }

  package struct Options: Sendable {
    /// Copies and compares, and throws the copy away.
    package var isRehearsal = false
    /// How long the beat of a coordinator has to stand still until it counts as dead. Coordinators that live beat each
    /// second.
    package var patience = Duration.seconds(6)
    /// Called after some thousand rows, and after each step. It must not block.
    package var report: @Sendable (Progress) -> Void = { _ in }
    /// Called after each step. An error that it throws ends the move as a kill would.
    var reached: @Sendable (Step) throws -> Void = { _ in }
    package var control = MoveControl()
    /// False is for tests that cut no power.
    var demandsDurability = true

    package init() {}
  }

  package struct Summary: Hashable, Sendable {
    package var requests = 0
    package var rows = 0
    /// Whether an earlier move was finished, so that nothing had to be copied.
    package var wasFinished = false

    package init(requests: Int = 0, rows: Int = 0, wasFinished: Bool = false) {
      (self.requests, self.rows, self.wasFinished) = (requests, rows, wasFinished)
    }
  }

  /// Runs `body`, and throws the error for the caller of a move.
  static func run<Result>(_ options: Options, _ body: (MoveCourse) throws -> Result) throws -> Result {
    do {
      return try body(MoveCourse(options))
    } catch {
      throw MoveCourse.error(error, options.control)
    }
  }
}

/// Where a store is, or moves to.
package enum StorePlace: Hashable, Sendable {
  /// The address of a database in PostgreSQL.
  case postgres(String)
  /// The absolute path of a folder.
  case folder(String)

  /// As a person has written it. An address may contain a password.
  package var text: String {
    switch self {
    case .postgres(let address): address
    case .folder(let path): path
    }
  }

  /// As it may be shown and logged: an address without secrets.
  package var shown: String {
    switch self {
    case .postgres(let address): (try? PostgresAddress(address))?.withoutSecrets ?? "the address that was given"
    case .folder(let path): path
    }
  }

  package init(_ text: String) { self = PostgresAddress.isURI(text) ? .postgres(text) : .folder(text) }
}
