internal import BatonPostgres
internal import GRDB

extension StoreError {
  /// Translates an error of the database into the error that callers get. An error that is not listed becomes
  /// `.unknown`.
  init(_ error: DatabaseError) {
    let detail = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
    switch error.resultCode {
    case .SQLITE_FULL:
      self.init(
        .cannotWrite,
        "The disk of the database is full (\(detail)); nothing was changed. Free some space, then try again.")
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN:
      self.init(.cannotWrite, "The database cannot be written (\(detail)); check the owner and mode of its folder.")
    case .SQLITE_CORRUPT, .SQLITE_NOTADB:
      self.init(.corrupt, "The file is damaged, or is not a database (\(detail)); restore it from a backup.")
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init(.locked, "Another process has the database open (\(detail)); only Baton's coordinator may open it.")
    case .SQLITE_CONSTRAINT:
      self.init(
        .refused,
        "The store refused a change that contradicts another row (\(detail)); nothing was changed. This is a fault of "
          + "Baton: please report it.")
    default:
      self.init(
        .unknown,
        """
        The disk of the database failed (\(detail)). Whether the change was saved is unknown until the store is opened \
        again.
        """)
    }
  }

  /// Translates any error that a verb threw. An error of an unknown type becomes `.corrupt`.
  init(anything error: any Error) {
    switch error {
    case let error as StoreError: self = error
    case let error as DatabaseError: self.init(error)
    case let error as PostgresError: self.init(error)
    default: self.init(.corrupt, "The store had an unexpected error: \(error)")
    }
  }
}
