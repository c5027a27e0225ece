import BatonBase
import BatonModel

/// A secret of 32 random bytes in a file of mode 0600, written as 64 hexadecimal digits. A process proves with it that
/// it is the same worker or coordinator as before.
package enum SecretFile {
  /// The length of a secret in bytes.
  package static let bytes = 32

  /// Reads the secret in `path`, or draws one and writes it durably if there is no such file. A power loss after this
  /// call does not lose the secret.
  /// - Throws: `SecretFileError` if the file can neither be read nor written, or if it contains something else.
  package static func own(_ path: String) throws(SecretFileError) -> (secret: [UInt8], isNew: Bool) {
    if let known = try read(path) { return (known, false) }
    let secret = (0..<bytes).map { _ in UInt8.random(in: .min ... .max) }
    try make(path, secret)
    return (secret, true)
  }

  /// Reads the secret in `path`. Returns `nil` if there is no such file. A symbolic link is not followed, and is an
  /// error.
  package static func read(_ path: String) throws(SecretFileError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw SecretFileError(path, "cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    var found = [UInt8](repeating: 0, count: 2 * bytes + 2)
    let count = pread(file, &found, found.count, 0)
    guard let secret = decoded(found.prefix(max(0, count))) else {
      throw SecretFileError(path, "does not hold \(bytes) bytes in hexadecimal")
    }
    return secret
  }

  /// Writes the secret to a temporary file, syncs it, and gives it its name.
  private static func make(_ path: String, _ secret: [UInt8]) throws(SecretFileError) {
    let part = path + ".part"
    unlink(part)
    let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw SecretFileError(path, "cannot be made: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    let text = encoded(secret)
    // The file gets its name after its content is synced, so a process that finds the file finds all of it.
    guard pwrite(file, text, text.count, 0) == text.count, fsync(file) == 0, rename(part, path) == 0,
      syncFolder(of: path)
    else { throw SecretFileError(path, "cannot be made durable: \(String(cString: strerror(errno)))") }
  }

  private static func syncFolder(of path: String) -> Bool {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let file = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    return fsync(file) == 0
  }

  private static let digits = Array("0123456789abcdef".utf8)

  private static func encoded(_ secret: [UInt8]) -> [UInt8] {
    secret.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] } + [0x0A]
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let line = text.last == 0x0A ? text.dropLast() : text
    let nibbles = line.map { byte in digits.firstIndex(of: byte) }
    guard nibbles.count == 2 * bytes, !nibbles.contains(nil) else { return nil }
    let values = nibbles.compactMap { $0 }
    return (0..<bytes).map { UInt8(values[2 * $0] << 4 | values[2 * $0 + 1]) }
  }
}

/// Why a secret cannot be read or written, with the path of its file.
package struct SecretFileError: Error, Sendable, CustomStringConvertible {
  package var path: String
  package var description: String { "\(path) \(problem)" }
  private var problem: String

  fileprivate init(_ path: String, _ problem: String) {
    self.path = path
    self.problem = problem
  }
}
