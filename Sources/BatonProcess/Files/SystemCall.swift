import BatonBase
import CBatonProcess
import Synchronization

/// System calls on files that Baton calls directly, because it needs to pass paths as bytes and to see the errno of a
/// failure.
package enum SystemCall {
  /// The system's explanation of an errno, such as "No such file or directory".
  package static func explanation(of code: Int32) -> String { String(cString: strerror(code)) }

  /// Makes the folder `path` and all missing folders above it, with mode 0700. Throws `SystemError` if one cannot be
  /// made.
  package static func makeFolders(_ path: String) throws {
    var partial = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      partial += part + "/"
      if mkdir(partial, 0o700) != 0 && errno != EEXIST { throw failure("cannot make the folder", partial) }
    }
    guard isFolder(path) else { throw SystemError(.unusable, "\(path) is not a folder: remove it, or choose another") }
  }

  /// The path without symbolic links and `..`. The file must exist.
  static func absolutePath(of path: String) throws -> String {
    guard let resolved = realpath(path, nil) else { throw failure("cannot find", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The current path of an open file. `nil` if the system does not tell, or the file has no path any more.
  static func path(of descriptor: Int32) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  package static func isFolder(_ path: String) -> Bool { mode(of: path).map { $0 & S_IFMT == S_IFDIR } ?? false }
  package static func isRegularFile(_ path: String) -> Bool { mode(of: path).map { $0 & S_IFMT == S_IFREG } ?? false }
  package static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 }

  /// Whether there is a file at `path`, with symbolic links followed.
  package static func exists(_ path: String) -> Bool { mode(of: path) != nil }

  /// The type and permissions of the file at `path`, with symbolic links followed. `nil` if there is no file.
  private static func mode(of path: String) -> mode_t? {
    let mode = baton_path_mode(path)
    return mode < 0 ? nil : mode_t(mode)
  }

  /// Opens a file; one that is made gets mode 0600. Programs that this process starts do not inherit the descriptor.
  package static func open(_ path: String, _ flags: Int32) throws -> Int32 {
    while true {
      let descriptor = openFile(path, flags | O_CLOEXEC, 0o600)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw failure("cannot open", path) }
    }
  }

  /// Replaces `path` by a new file that only this user can read. A symbolic link is replaced, not followed. Other
  /// processes can see the file before it is complete; where that matters, write to another name and rename the file.
  package static func write(_ bytes: [UInt8], to path: String) throws {
    unlink(path)
    let descriptor = try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    defer { close(descriptor) }
    try write(bytes, to: descriptor, path: path)
  }

  /// - Parameter path: named in the message of an error.
  package static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws {
    try bytes.withUnsafeBytes { try write($0, to: descriptor, path: path) }
  }

  /// - Parameter path: named in the message of an error.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, path: String) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest)
      let count = writeBytes(descriptor, part.baseAddress, part.count)
      if count < 0 && errno != EINTR { throw failure("cannot write", path) }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// The first `limit` bytes of a file, or `nil` if it cannot be read.
  package static func contents(of path: String, limit: Int = 1 << 20) -> [UInt8]? {
    guard let descriptor = try? open(path, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    while contents.count < limit {
      guard let chunk = read(descriptor, limit: min(64 << 10, limit - contents.count)) else { return nil }
      if chunk.isEmpty { break }
      contents += chunk
    }
    return contents
  }

  /// Reads once. The result is empty at the end of the file. It is `nil` if the read fails or would have to wait;
  /// `errno` has the reason.
  package static func read(_ descriptor: Int32, limit: Int) -> [UInt8]? {
    while true {
      var count = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
        count = readBytes(descriptor, buffer.baseAddress, limit)
        initialized = max(0, count)
      }
      if count >= 0 { return chunk }
      if errno != EINTR { return nil }
    }
  }

  /// Sends a signal to a process, or to a process group if `pid` is negative. Returns 0 if it exists and may be
  /// signalled.
  static func signal(_ pid: Int32, _ signal: Int32) -> Int32 { kill(pid, signal) }

  package static func failure(_ doing: String, _ path: String) -> SystemError {
    let code = errno
    return SystemError(.failed, "\(doing) \(path): \(explanation(of: code))", cause: code)
  }
}

/// A file descriptor that is closed when the last reference to this object is gone, unless `close` is called before.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  private let isOpen = Atomic(true)

  package init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { close() }

  /// Closes the descriptor. The system may then use its number for another file.
  package func close() {
    if isOpen.exchange(false, ordering: .relaxed) { closeFile(descriptor) }
  }
}

// Within `SystemCall` and `OpenFile`, their members shadow open(2), write(2), read(2) and close(2). These functions
// call the C library.
private func closeFile(_ descriptor: Int32) { _ = close(descriptor) }
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
private func readBytes(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
