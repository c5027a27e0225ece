import Foundation
import GRDBSQLite
import Synchronization

/// A disk whose syncs fail on demand: a copy of SQLite's own file layer (VFS) that wraps files of marked folders.
enum FailingDisk {
  /// The mark in the path of every database whose syncs can fail.
  static let mark = "failing-disk"

  struct State: Sendable {
    /// The names of open files of marked databases, by the address of SQLite's handle.
    var names: [UInt: String] = [:]
    /// The folders in which syncs fail now.
    var broken: Set<String> = []
    /// The number of syncs of each file.
    var syncs: [String: Int] = [:]
    /// The address of SQLite's own functions for each handle. A database and its log have different functions.
    var originals: [UInt: UInt] = [:]
    /// The addresses of the copies with `sync` and `close` replaced, by the address of the original functions.
    var patched: [UInt: UInt] = [:]
  }

  static let state = Mutex(State())

  /// Whether the layer could be installed. It is installed once, before the first marked database is opened.
  static let isInstalled: Bool = {
    guard let system = sqlite3_vfs_find(nil) else { return false }
    let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    layer.initialize(to: system.pointee)
    layer.pointee.zName = UnsafePointer(strdup("baton-failing-disk"))
    layer.pointee.xOpen = { layer, name, file, flags, outFlags in
      guard let system = sqlite3_vfs_find("unix"), let file else { return SQLITE_CANTOPEN }
      let code = system.pointee.xOpen(layer, name, file, flags, outFlags)
      if code == SQLITE_OK, let name, String(cString: name).contains(mark) { watch(file, String(cString: name)) }
      return code
    }
    return sqlite3_vfs_register(layer, 1) == SQLITE_OK
  }()

  /// Replaces `sync` and `close` of the file with those of this type.
  private static func watch(_ file: UnsafeMutablePointer<sqlite3_file>, _ name: String) {
    guard let methods = file.pointee.pMethods else { return }
    state.withLock { state in
      state.names[UInt(bitPattern: file)] = name
      let original = UInt(bitPattern: methods)
      state.originals[UInt(bitPattern: file)] = original
      if state.patched[original] == nil {
        let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        copy.initialize(to: methods.pointee)
        copy.pointee.xSync = { file, flags in FailingDisk.sync(file, flags) }
        copy.pointee.xClose = { file in FailingDisk.close(file) }
        state.patched[original] = UInt(bitPattern: copy)
      }
      file.pointee.pMethods = state.patched[original].flatMap { UnsafePointer(bitPattern: $0) }
    }
  }

  private static func methods(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafePointer<sqlite3_io_methods>? {
    state.withLock { $0.originals[UInt(bitPattern: file)] }.flatMap { UnsafePointer(bitPattern: $0) }
  }

  private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
    let fails = state.withLock { state in
      guard let name = state.names[UInt(bitPattern: file)] else { return false }
      state.syncs[name, default: 0] += 1
      return state.broken.contains { name.hasPrefix($0) }
    }
    // SQLITE_IOERR_FSYNC
    return fails ? SQLITE_IOERR | (4 << 8) : methods(file)?.pointee.xSync(file, flags) ?? SQLITE_IOERR
  }

  private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
    state.withLock { $0.names[UInt(bitPattern: file)] = nil }
    return methods(file)?.pointee.xClose(file) ?? SQLITE_IOERR
  }

  static func breakDown(_ folder: String) { state.withLock { _ = $0.broken.insert(folder) } }
  static func mend(_ folder: String) { state.withLock { _ = $0.broken.remove(folder) } }
  /// The number of syncs of the log of the database in `folder`.
  static func logSyncs(_ folder: String) -> Int {
    state.withLock { state in
      state.syncs.reduce(0) { $1.key.hasPrefix(folder) && $1.key.hasSuffix("-wal") ? $0 + $1.value : $0 }
    }
  }
}
