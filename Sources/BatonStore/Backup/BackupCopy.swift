internal import BatonModel
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Stops a running backup from another task. The copy stops before its next step of 256 pages, and the integrity check
/// stops within 10,000 instructions of SQLite's virtual machine.
final class BackupControl: Sendable {
  private let stopped = Atomic(false)

  var isStopped: Bool { stopped.load(ordering: .relaxed) }
  func stop() { stopped.store(true, ordering: .relaxed) }

  /// Throws `CancellationError` after `stop()` was called.
  func demandGoingOn() throws {
    if isStopped { throw CancellationError() }
  }
}

/// Copies the database that a connection reads into a file, page by page, and checks the copy.
///
/// The source stays in one read transaction from the first page to the last. Without this transaction SQLite would
/// restart the copy after every commit of the writer (https://www.sqlite.org/backup.html). Writers continue during the
/// copy; their changes stay in the write-ahead log until the copy ends.
struct BackupCopy {
  let target: BackupTarget
  let control: BackupControl
  /// Called after each step of the copy. The callback must not block.
  let report: @Sendable (BackupProgress) -> Void

  /// Pages that are copied in one step: 1 MiB at 4 KiB per page. The copy can be stopped between two steps.
  private static let pagesPerStep: Int32 = 256
  /// Steps between two syncs of the file.
  private static let stepsPerSync = 16

  /// Copies the database to `target`, checks the copy, and gives the file its final name.
  /// - Parameter source: a connection that is in a read transaction, or that nothing else uses.
  /// - Returns: the path and size of the backup, and the receipt that the copy contains.
  /// - Throws: `.cannotWrite` if the disk is full or fails, `.corrupt` if the copy is damaged, `CancellationError`
  ///   after a stop.
  func run(from source: Database) throws -> BackupSummary {
    // SQLite takes the snapshot of a transaction at its first read, so something has to be read before the copy starts.
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
    // The copy needs no journal: it has no final name yet, and the file is synced as a whole at the end.
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

  /// Copies all pages. Syncs the file and checks the free room once in every `stepsPerSync` steps.
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

  /// Translates an error of SQLite. The result is never `.unknown`, because that code ends the coordinator, and a
  /// failed backup leaves the store itself unharmed.
  private func failure(_ code: Int32, _ connection: OpaquePointer?) -> StoreError {
    let detail = String(cString: sqlite3_errstr(code))
    switch code & 0xFF {
    case SQLITE_FULL:
      return StoreError(
        .cannotWrite,
        "\(target.path): the disk is full (\(detail)); the incomplete backup was removed. Free some space, then try "
          + "again."
      )
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return StoreError(
        .corrupt, "The database is damaged (\(detail)), so it cannot be backed up; restore it from an earlier backup.")
    default:
      return StoreError(
        .cannotWrite,
        """
        \(target.path): the backup failed (\(detail)), and the incomplete file was removed. Check the disk of the \
        store and the disk of the backup.
        """)
    }
  }
}

/// Checks the integrity of a copy before the copy gets its final name.
struct BackupCheck {
  let path: String
  let control: BackupControl

  /// Runs SQLite's integrity check, and reads which store the copy is of and how many commits it contains.
  /// - Returns: the receipt of the copy, with `tenure` 0.
  /// - Throws: `.corrupt` if the copy is damaged or is not a Baton store, `CancellationError` after a stop.
  func run() throws -> Receipt {
    var opened: OpaquePointer?
    defer { sqlite3_close_v2(opened) }
    // `immutable`: SQLite creates no log or index file beside the copy (https://www.sqlite.org/uri.html).
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

  /// The SQL expression for the number of commits. Older versions counted them in the row of the store, and the first
  /// ones not at all.
  private func sequence(_ copy: OpaquePointer) throws -> String {
    if try !texts(copy, "SELECT name FROM pragma_table_info('coordinator') WHERE name = 'commits'").isEmpty {
      return "(SELECT coalesce(max(commits), 0) FROM coordinator)"
    }
    let hasSequence = try texts(copy, "SELECT name FROM pragma_table_info('store') WHERE name = 'sequence'")
    return hasSequence.isEmpty ? "0" : "sequence"
  }

  /// The first column of every row that `sql` answers, as text.
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
