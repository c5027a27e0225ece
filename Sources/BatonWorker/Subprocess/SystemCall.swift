import CBatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The few file calls that are needed as they are: with the bytes of a path, and with the errno when they fail.
enum SystemCall {
  /// What the system says of `errno`, such as "No such file or directory".
  static func explanation(of code: Int32) -> String { String(cString: strerror(code)) }

  /// Makes `path` and every missing folder above it, with mode 0700.
  static func makeFolders(_ path: String) throws {
    var partial = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      partial += part + "/"
      if mkdir(partial, 0o700) != 0 && errno != EEXIST { throw failure("cannot make the folder", partial) }
    }
    guard isFolder(path) else { throw CommandError(.host, "\(path) is not a folder: remove it, or choose another") }
  }

  /// `path` without symbolic links and `..`; it must exist.
  static func absolutePath(of path: String) throws -> String {
    guard let resolved = realpath(path, nil) else { throw failure("cannot find", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Where the file of a descriptor is now; nil where the system does not say, or it is nowhere any more.
  static func path(of descriptor: Int32) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  static func isFolder(_ path: String) -> Bool { mode(of: path).map { $0 & S_IFMT == S_IFDIR } ?? false }
  static func isRegularFile(_ path: String) -> Bool { mode(of: path).map { $0 & S_IFMT == S_IFREG } ?? false }
  static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 }

  /// Type and permissions of what `path` leads to, nil if there is nothing.
  static func mode(of path: String) -> mode_t? {
    let mode = baton_path_mode(path)
    return mode < 0 ? nil : mode_t(mode)
  }

  /// The descriptor is closed in every process that is started meanwhile.
  static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws -> Int32 {
    while true {
      let descriptor = openFile(path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw failure("cannot open", path) }
    }
  }

  /// Replaces `path` by a new file of these bytes, readable by this user only; a symbolic link there is replaced, not
  /// followed. A process may see it half written: write it under another name and rename it, where that matters.
  static func write(_ bytes: [UInt8], to path: String) throws {
    unlink(path)
    let descriptor = try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    defer { close(descriptor) }
    try write(bytes, to: descriptor, path: path)
  }

  /// - Parameter path: for the message.
  static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { throw failure("cannot write", path) }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// The first `limit` bytes of a file, nil if it cannot be read.
  static func contents(of path: String, limit: Int = 1 << 20) -> [UInt8]? {
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

  /// What one read gives: empty at the end, nil if it fails (`errno` says why) or would have to wait.
  static func read(_ descriptor: Int32, limit: Int) -> [UInt8]? {
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

  /// 0 if there is such a process, or group if `pid` is negative, and it may be signalled.
  static func signal(_ pid: Int32, _ signal: Int32) -> Int32 { kill(pid, signal) }

  static func failure(_ doing: String, _ path: String) -> CommandError {
    let code = errno
    return CommandError(.host, "\(doing) \(path): \(explanation(of: code))")
  }
}

// Swift's `open` and `write` are shadowed by the members above.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
private func readBytes(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
