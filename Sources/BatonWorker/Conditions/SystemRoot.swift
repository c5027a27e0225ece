#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The small files in which a system says what state it is in, below a folder: `/`, a host's root that is mounted
/// elsewhere, or one that a test made. Reading never waits and never fails; a file that cannot be read says why.
package struct SystemRoot: Hashable, Sendable {
  /// Empty for `/`; without a slash at its end.
  package let path: String

  package init(_ path: String = "/") {
    self.path = path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// True for the system that this process runs on: only then do its events and its commands say the same.
  package var isOwn: Bool { path.isEmpty }

  package enum Text: Hashable, Sendable {
    /// Without white space at its end; at most 64 KiB are read.
    case text(String)
    case missing
    /// It is there and cannot be read: the system's words, such as "Permission denied".
    case unreadable(String)
  }

  /// - Parameter file: such as `sys/class/power_supply/AC/online`.
  package func text(_ file: String) -> Text {
    let descriptor = open(path + "/" + file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return failure(errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < Self.limit {
      guard let chunk = SystemCall.read(descriptor, limit: 4096) else { return failure(errno) }
      if chunk.isEmpty { break }
      bytes += chunk
    }
    while let last = bytes.last, last == 0x0a || last == 0x20 || last == 0x0d || last == 0x09 { bytes.removeLast() }
    return .text(String(decoding: bytes, as: UTF8.self))
  }

  private static let limit = 64 << 10

  /// Also where the driver took the file away while it was read.
  private func failure(_ code: Int32) -> Text {
    code == ENOENT || code == ENOTDIR || code == ENODEV || code == ENXIO
      ? .missing : .unreadable(SystemCall.explanation(of: code))
  }

  /// The text, nil if it cannot be read for any reason.
  package func string(_ file: String) -> String? {
    if case .text(let text) = text(file) { text } else { nil }
  }

  /// A whole number in decimal digits, nil for anything else.
  package func number(_ file: String) -> Int? { string(file).flatMap { Int($0) } }

  /// The names in a folder, sorted, without `.` and `..`; empty if it is not there or cannot be read.
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
