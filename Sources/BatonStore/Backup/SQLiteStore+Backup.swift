internal import GRDB

extension SQLiteStore {
  /// Writes a copy of everything that was answered so far to a new file, on a connection of its own: writers go on.
  /// - Parameters:
  ///   - path: absolute, without symbolic links, ending in `.sqlite`, outside of the store's folder. There must be no
  ///     such file yet.
  ///   - report: called after each mebibyte; it must not wait.
  /// - Throws: `.refused` if the path is not permitted or another backup is being written, `.cannotWrite` if the disk is
  ///   full or fails, `.corrupt` if the copy is not whole, `CancellationError` if the task is cancelled or the store is
  ///   closed. In all of these cases no file of this name is there.
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

  /// The same for a store that no process has open, whatever version wrote it: its schema is left as it is.
  /// - Throws: also `.notFound` if there is no store in `folder`, and `.locked` if a process holds it.
  package static func backUp(
    folder: String, to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    guard FileIdentity(of: folder + "/" + StoreFolder.databaseName) != nil else {
      throw StoreError(.notFound, "There is no store in \(folder): no file \(StoreFolder.databaseName).")
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
