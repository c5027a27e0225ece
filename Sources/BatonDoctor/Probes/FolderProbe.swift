import BatonBase
import BatonModel
import BatonStore
import CBatonHost

/// Examines a data folder. It creates nothing but one scratch file, which it removes.
package enum FolderProbe {
  /// - Parameters:
  ///   - path: the absolute path of the folder, which need not exist.
  ///   - syncing: for how long durable writes are measured; `nil` to measure none. A single slow write may take longer.
  package static func look(at path: String, syncing: Duration?) -> HostFacts.Folder {
    look(at: path, syncing: syncing) { pwrite($0, $1, $1.count, $2) }
  }

  /// Writes a page at an offset of a descriptor as the system's `pwrite` does, and returns how many bytes were written.
  typealias Writing = (_ file: Int32, _ page: [UInt8], _ offset: off_t) -> Int

  /// - Parameter writing: replaces the system's `pwrite` in tests.
  static func look(at path: String, syncing: Duration?, writing: Writing) -> HostFacts.Folder {
    var folder = HostFacts.Folder(path: path, nearest: nearest(to: path))
    var file = baton_host_file()
    guard baton_host_look(folder.nearest, &file) == 0 else {
      folder.failure = explanation(errno)
      return folder
    }
    (folder.owner, folder.mode) = (file.user, file.mode & 0o7777)
    folder.isFolder = file.mode & UInt32(S_IFMT) == UInt32(S_IFDIR)
    guard folder.isFolder else { return folder }
    folder.mount = MountedFileSystem(of: folder.nearest)
    folder.room = room(of: folder.nearest)
    do throws(ScratchFailure) {
      folder.syncs = try write(in: folder.nearest, syncing: syncing, writing)
    } catch {
      folder.failure = explanation(error.code)
    }
    return folder
  }

  /// The path itself if it exists, else its nearest existing parent folder.
  private static func nearest(to path: String) -> String {
    var path = path
    while path.utf8.count > 1, access(path, F_OK) != 0, errno == ENOENT || errno == ENOTDIR,
      let slash = path.lastIndex(of: "/")
    {
      path = slash == path.startIndex ? "/" : String(path[..<slash])
    }
    return path
  }

  /// The free space of the file system of a path that exists; nil if the system does not say it.
  package static func room(of path: String) -> HostFacts.Room? {
    var room = baton_host_room()
    guard baton_host_measure(path, &room) == 0 else { return nil }
    return HostFacts.Room(
      freeBytes: room.free_bytes, freeFiles: room.free_files < 0 ? nil : room.free_files,
      isReadOnly: room.is_read_only != 0)
  }

  private struct ScratchFailure: Error { var code: Int32 }

  /// Proves that the folder can be written by writing pages of 4 KiB, as SQLite appends them to its log at a commit.
  /// The file's name is removed at once, so that nothing remains even if the process dies.
  private static func write(
    in folder: String, syncing: Duration?, _ writing: Writing
  ) throws(ScratchFailure) -> HostFacts.Syncs? {
    var name = Array((folder + "/.baton-doctor-XXXXXX").utf8CString)
    let file = mkstemp(&name)
    guard file >= 0 else { throw ScratchFailure(code: errno) }
    defer { close(file) }
    unlink(name)
    let page = [UInt8](repeating: 0x42, count: 4096)
    let (start, limit) = (ContinuousClock.now, syncing ?? .zero)
    var syncs = HostFacts.Syncs(count: 0, lasted: .zero, slowest: .zero)
    repeat {
      let before = ContinuousClock.now
      let place = off_t(syncs.count % Self.pages * page.count)
      let written = writing(file, page, place)
      guard written == page.count else {
        // A full disk is reported by another finding. The pages that were written prove that the folder can be written.
        if syncs.count > 0 { return syncs }
        // A write that stops within the page sets no `errno`: there is no room for the rest.
        throw ScratchFailure(code: written < 0 ? errno : ENOSPC)
      }
      guard syncing != nil else { return nil }
      let code = baton_host_sync(file)
      guard code == 0 else { throw ScratchFailure(code: code) }
      syncs.count += 1
      syncs.slowest = max(syncs.slowest, ContinuousClock.now - before)
      syncs.lasted = ContinuousClock.now - start
    } while syncs.lasted < limit
    return syncs
  }

  /// The number of pages after which writing starts again at the beginning of the file, like SQLite's log, which is
  /// reused after 1,000 pages (4 MiB, `wal_autocheckpoint`).
  private static let pages = 1000
}

func explanation(_ code: Int32) -> String { String(cString: strerror(code)) }
