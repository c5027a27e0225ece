internal import BatonModel
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Ends a backup from outside: the copy stops within a step, the check within some thousand instructions of SQLite.
final class BackupControl: Sendable {
  private let stopped = Atomic(false)

  var isStopped: Bool { stopped.load(ordering: .relaxed) }
  func stop() { stopped.store(true, ordering: .relaxed) }

  func demandGoingOn() throws {
    if isStopped { throw CancellationError() }
  }
}

/// Copies the database that a connection reads into a file, page by page, and checks the copy.
///
/// The source stays in one read transaction from the first page to the last: without it SQLite would begin again with
/// every commit of the writer (https://www.sqlite.org/backup.html). Writers go on meanwhile; what they write stays in
/// the log until the copy is through.
struct BackupCopy {
  let target: BackupTarget
  let control: BackupControl
  let report: @Sendable (BackupProgress) -> Void

  /// A mebibyte of pages of 4 KiB: between two steps the copy can be stopped.
  private static let pagesPerStep: Int32 = 256
  /// Steps between two syncs.
  private static let stepsPerSync = 16

  /// - Parameter source: in a read transaction, or without any other user.
  func run(from source: Database) throws -> BackupSummary {
    // A transaction that has read nothing yet has no snapshot.
    _ = try Int.fetchOne(source, sql: "SELECT count(*) FROM sqlite_master")
    let pageBytes = try Int.fetchOne(source, sql: "PRAGMA page_size") ?? 4096
    let pageCount = try Int.fetchOne(source, sql: "PRAGMA page_count") ?? 0
    try target.demandRoom(for: pageBytes * pageCount)
    guard let connection = source.sqliteConnection else { throw StoreError(.unknown, "The store is closed.") }
    try copy(connection, pageBytes: pageBytes)
    let receipt = try BackupCheck(path: target.partPath, control: control).run()
    try control.demandGoingOn()
    let bytes = target.bytes
    try target.finish()
    return BackupSummary(path: target.path, bytes: bytes, receipt: receipt)
  }

  private func copy(_ source: OpaquePointer, pageBytes: Int) throws {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW
    defer { sqlite3_close_v2(opened) }
    guard sqlite3_open_v2(target.partPath, &opened, flags, nil) == SQLITE_OK, let copy = opened else {
      throw failure(sqlite3_extended_errcode(opened), opened)
    }
    // A file that has not got its name needs no journal, and is synced as a whole.
    let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"
    guard sqlite3_exec(copy, settings, nil, nil, nil) == SQLITE_OK,
      let backup = sqlite3_backup_init(copy, "main", source, "main")
    else { throw failure(sqlite3_extended_errcode(copy), copy) }
    do {
      try step(backup, pageBytes: pageBytes, copy)
    } catch {
      sqlite3_backup_finish(backup)
      throw error
    }
    let code = sqlite3_backup_finish(backup)
    guard code == SQLITE_OK else { throw failure(code, copy) }
  }

  private func step(_ backup: OpaquePointer, pageBytes: Int, _ copy: OpaquePointer) throws {
    var steps = 0
    while true {
      try control.demandGoingOn()
      let code = sqlite3_backup_step(backup, Self.pagesPerStep)
      guard code == SQLITE_OK || code == SQLITE_DONE else { throw failure(code, copy) }
      let (total, left) = (Int(sqlite3_backup_pagecount(backup)), Int(sqlite3_backup_remaining(backup)))
      report(BackupProgress(pages: total - left, totalPages: total))
      if code == SQLITE_DONE { return }
      steps += 1
      guard steps.isMultiple(of: Self.stepsPerSync) else { continue }
      try target.sync()
      try target.demandRoom(for: left * pageBytes)
    }
  }

  /// Never `.unknown`, which would end the coordinator: the store itself is as it was.
  private func failure(_ code: Int32, _ connection: OpaquePointer?) -> StoreError {
    let detail = String(cString: sqlite3_errstr(code))
    switch code & 0xFF {
    case SQLITE_FULL:
      return StoreError(
        .cannotWrite, "\(target.path): the disk is full (\(detail)); nothing of the backup is left. Make room first.")
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return StoreError(.corrupt, "The database is damaged (\(detail)): it cannot be copied whole.")
    default:
      return StoreError(
        .cannotWrite, "\(target.path): the backup failed (\(detail)); nothing of it is left. Look at both disks.")
    }
  }
}

/// Reads a copy through before it gets its name.
struct BackupCheck {
  let path: String
  let control: BackupControl

  /// - Returns: how far the copy is.
  /// - Throws: `.corrupt` if the copy is damaged or is no store.
  func run() throws -> Receipt {
    var opened: OpaquePointer?
    defer { sqlite3_close_v2(opened) }
    // Immutable: no log or index is made beside the file (https://www.sqlite.org/uri.html).
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    let uri = StoreInspection.uri(path)
    guard sqlite3_open_v2(uri, &opened, flags, nil) == SQLITE_OK, let copy = opened else { throw damaged("unreadable") }
    let flag = Unmanaged.passUnretained(control)
    sqlite3_progress_handler(
      copy, 10_000, { Unmanaged<BackupControl>.fromOpaque($0!).takeUnretainedValue().isStopped ? 1 : 0 },
      flag.toOpaque())
    let found = try texts(copy, "PRAGMA integrity_check(1)")
    guard found == ["ok"] else { throw damaged(found.first ?? "no answer") }
    guard let row = try texts(copy, "SELECT incarnation || ' ' || \(sequence(copy)) FROM store").first,
      let gap = row.lastIndex(of: " "), let sequence = Int64(row[row.index(after: gap)...])
    else { throw damaged("it is no store") }
    return Receipt(store: String(row[..<gap]), tenure: 0, sequence: sequence)
  }

  /// Stores of older versions count no commits.
  private func sequence(_ copy: OpaquePointer) throws -> String {
    let hasSequence = try texts(copy, "SELECT name FROM pragma_table_info('store') WHERE name = 'sequence'")
    return hasSequence.isEmpty ? "0" : "sequence"
  }

  private func texts(_ copy: OpaquePointer, _ sql: String) throws -> [String] {
    if let found = StoreInspection.texts(copy, sql) { return found }
    try control.demandGoingOn()
    throw damaged(String(cString: sqlite3_errmsg(copy)))
  }

  private func damaged(_ found: String) -> StoreError {
    StoreError(
      .corrupt,
      """
      The copy is damaged (\(found)), so it was not kept. If a second try says the same, the store itself is damaged: \
      restore it from an earlier backup.
      """)
  }
}
