internal import GRDB

extension SQLiteStore {
  /// Writes a copy of everything that was acknowledged so far to a new file. The copy uses its own connection and does
  /// not block writers.
  /// - Parameters:
  ///   - path: an absolute path without symbolic links, ending in `.sqlite`, outside of the store's folder. No file of
  ///     this name may exist.
  ///   - report: called after each step of the copy (1 MiB). It must not block.
  /// - Throws: `.refused` if the path is not permitted or another backup is being written; `.cannotWrite` if the disk
  ///   is full or fails; `.corrupt` if the copy is damaged; `CancellationError` if the task is cancelled or the store
  ///   is closed. In all of these cases no file of this name exists afterwards.
  package func backUp(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    let control = BackupControl()
    try claimBackup(control)
    defer { releaseBackup() }
    let target = try BackupTarget(path, store: folderPath)
    let copy = BackupCopy(target: target, control: control, report: report)
    return try await withTaskCancellationHandler {
      do {
        return try await readAll { try copy.run(from: $0) }
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        throw StoreError(anything: error)
      }
    } onCancel: {
      control.stop()
    }
  }

  /// Backs up a store that no process has open. The store may have been written by any version: its schema is not
  /// migrated.
  /// - Throws: the errors of `backUp(to:_:)`, and `.notFound` if there is no store in `folder`, `.locked` if a process
  ///   has the store open.
  package static func backUp(
    folder: String, to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    guard FileIdentity(of: folder + "/" + StoreFolder.databaseName) != nil else {
      throw StoreError.noStore(folder)
    }
    let folder = try StoreFolder(folder)
    defer { folder.release() }
    let control = BackupControl()
    let target = try BackupTarget(path, store: folder.path)
    let copy = BackupCopy(target: target, control: control, report: report)
    return try await withTaskCancellationHandler {
      do {
        let queue = try DatabaseQueue(path: folder.databasePath, configuration: configuration)
        defer { try? queue.close() }
        return try await queue.read { db in
          if let mark = try FileMark.read(db) { throw mark.refusal }
          try Migrations.expectOurs(db)
          return try copy.run(from: db)
        }
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        throw StoreError(anything: error)
      }
    } onCancel: {
      control.stop()
    }
  }
}
