import BatonBase
import BatonModel
import BatonProcess
import CBatonProcess

/// The names in one folder, sorted by their bytes. They take two blocks of memory, however many there are.
struct FolderListing {
  enum Kind { case file, folder, other }

  /// The names one after another, each followed by a zero byte.
  private var names: [CChar] = []
  /// Where each name begins in `names`, in sorted order.
  private var offsets: [Int] = []
  private let path: String

  /// - Returns: `nil` if the folder does not exist, or is not a folder.
  /// - Throws: `CommandError` with the code `.badItems` if the folder cannot be read. Otherwise items would be missing
  ///   without notice.
  init?(_ path: String, host: HostName) throws {
    self.path = path
    guard let stream = opendir(path) else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw Self.unreadable(path, host)
    }
    defer { closedir(stream) }
    errno = 0
    while let entry = readdir(stream) { append(entry) }
    if errno != 0 { throw Self.unreadable(path, host) }
    names.withUnsafeBufferPointer { names in
      offsets.sort { strcmp(names.baseAddress! + $0, names.baseAddress! + $1) < 0 }
    }
  }

  var count: Int { offsets.count }

  func withName<Value>(_ index: Int, _ body: (UnsafePointer<CChar>) throws -> Value) rethrows -> Value {
    try names.withUnsafeBufferPointer { try body($0.baseAddress! + offsets[index]) }
  }

  /// The kind of a name's file. A symbolic link to a file counts as a file. A link to a folder is `.other`, so that the
  /// walk cannot go in circles.
  func kind(_ index: Int) -> Kind {
    // The path is made of bytes, because a name need not be UTF-8.
    let full = withName(index) { name in
      path.utf8.map(CChar.init(bitPattern:)) + [47] + UnsafeBufferPointer(start: name, count: strlen(name) + 1)
    }
    switch baton_file_kind(full) {
    case BATON_FILE: return .file
    case BATON_FOLDER: return .folder
    default: return .other
    }
  }

  private mutating func append(_ entry: UnsafeMutablePointer<dirent>) {
    let offset = names.count
    let length = withUnsafePointer(to: &entry.pointee.d_name) { name in
      name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
        let length = strlen(name)
        names.append(contentsOf: UnsafeBufferPointer(start: name, count: length + 1))
        return length
      }
    }
    let isSelfOrParent = names[offset] == 46 && (length == 1 || (length == 2 && names[offset + 1] == 46))
    if isSelfOrParent { names.removeLast(length + 1) } else { offsets.append(offset) }
  }

  private static func unreadable(_ path: String, _ host: HostName) -> CommandError {
    let code = errno
    return CommandError(
      .badItems,
      "the folder \(path) on \(host) cannot be listed (\(SystemCall.explanation(of: code))), so some items "
        + "would be missing: give the worker's user permission to read it, or choose a narrower glob")
  }
}
