import BatonModel
import BatonStore
import CBatonHost

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Looks at a data folder: it makes nothing but a scratch file, which it removes.
package enum FolderProbe {
  /// - Parameters:
  ///   - path: absolute; it need not be there.
  ///   - syncing: for how long durable writes are counted; nil for not at all. A single one may take longer.
  package static func look(at path: String, syncing: Duration?) -> HostFacts.Folder {
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
      folder.syncs = try write(in: folder.nearest, syncing: syncing)
    } catch {
      folder.failure = explanation(error.code)
    }
    return folder
  }

  /// The path itself, or the nearest on the way to it that is there.
  private static func nearest(to path: String) -> String {
    var path = path
    while path.utf8.count > 1, access(path, F_OK) != 0, errno == ENOENT || errno == ENOTDIR,
      let slash = path.lastIndex(of: "/")
    {
      path = slash == path.startIndex ? "/" : String(path[..<slash])
    }
    return path
  }

  private static func room(of path: String) -> HostFacts.Room? {
    var room = baton_host_room()
    guard baton_host_measure(path, &room) == 0 else { return nil }
    return HostFacts.Room(
      freeBytes: room.free_bytes, freeFiles: room.free_files < 0 ? nil : room.free_files,
      isReadOnly: room.is_read_only != 0)
  }

  private struct ScratchFailure: Error { var code: Int32 }

  /// The proof that the folder can be written: a page, as SQLite appends it to its log at a commit. It is without a name
  /// from the start, so that nothing of it stays whatever happens.
  private static func write(in folder: String, syncing: Duration?) throws(ScratchFailure) -> HostFacts.Syncs? {
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
      guard pwrite(file, page, page.count, place) == page.count else {
        // Little room is another finding: what was written says that the folder can be.
        if syncs.count > 0 { return syncs }
        throw ScratchFailure(code: errno)
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

  /// The log grows to 4 MiB and begins anew (1,000 pages, SQLite's `wal_autocheckpoint`).
  private static let pages = 1000
}

func explanation(_ code: Int32) -> String { String(cString: strerror(code)) }
