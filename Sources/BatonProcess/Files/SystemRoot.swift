import BatonBase

/// The small files in which a system shows its state, below a folder: `/`, a host's root that is mounted elsewhere, or
/// a folder that a test made. Files are opened without blocking. Reading does not throw: a file that cannot be read is
/// a result with a reason.
package struct SystemRoot: Hashable, Sendable {
  /// The folder's path without a slash at its end; empty for `/`.
  package let path: String

  package init(_ path: String = "/") {
    self.path = path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// Whether this is the system on which the process runs. Only then do events and commands tell about the same system
  /// as the files.
  package var isOwn: Bool { path.isEmpty }

  package enum Text: Hashable, Sendable {
    /// The file's text without white space at its end. At most 64 KiB are read.
    case text(String)
    case missing
    /// The file exists and cannot be read, with the system's explanation, such as "Permission denied".
    case unreadable(String)
  }

  /// Reads a file.
  /// - Parameter file: the path below the root, such as `sys/class/power_supply/AC/online`.
  package func text(_ file: String) -> Text {
    let descriptor = open(path + "/" + file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return failure(errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < Self.limit {
      guard let chunk = SystemCall.read(descriptor, limit: 4096) else { return failure(errno) }
      bytes += chunk
      // The kernel ends a read early at the end of the file, or before a line that does not fit. No line of a file with
      // several lines has 2 KiB.
      if chunk.count < 2048 { break }
    }
    while let last = bytes.last, last == 0x0a || last == 0x20 || last == 0x0d || last == 0x09 { bytes.removeLast() }
    return .text(String(decoding: bytes, as: UTF8.self))
  }

  private static let limit = 64 << 10

  /// A file counts as missing also if its driver removed it while it was read.
  private func failure(_ code: Int32) -> Text {
    code == ENOENT || code == ENOTDIR || code == ENODEV || code == ENXIO
      ? .missing : .unreadable(SystemCall.explanation(of: code))
  }

  /// The file's text, or `nil` if it cannot be read.
  package func string(_ file: String) -> String? {
    if case .text(let text) = text(file) { text } else { nil }
  }

  /// The file's content as a decimal whole number, or `nil` if it is not one.
  package func number(_ file: String) -> Int? { string(file).flatMap { Int($0) } }

  /// The names in a folder, sorted, without `.` and `..`. Empty if the folder does not exist or cannot be read.
  package func names(in folder: String) -> [String] {
    guard let stream = opendir(path + "/" + folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  package func exists(_ file: String) -> Bool { access(path + "/" + file, F_OK) == 0 }
}
