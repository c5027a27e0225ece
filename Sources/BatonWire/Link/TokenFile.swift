#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The secret that a coordinator asks of everyone who connects, on loopback too: other users of the machine have no
/// business with it. It lies in the coordinator's data folder and, for clients of the same user, in a runtime folder.
package enum TokenFile {
  /// Where a coordinator on `port` publishes its token for clients of the same user: `$XDG_RUNTIME_DIR/baton`, or
  /// a folder of the user's own below /tmp where that is not set.
  package static func published(port: Int) -> String { runtimeFolder() + "/\(port).token" }

  private static func runtimeFolder() -> String {
    if let runtime = getenv("XDG_RUNTIME_DIR").map({ String(cString: $0) }), !runtime.isEmpty {
      return runtime + "/baton"
    }
    return "/tmp/baton-\(getuid())"
  }

  /// Reads the token that clients have to send to a coordinator on `port`.
  /// - Parameter file: what `BATON_TOKEN_FILE` or the configuration names; nil means the published one.
  /// - Returns: nil if there is no published file: the coordinator is not running, or another user's.
  /// - Throws: a message that names the file, if `file` cannot be read.
  package static func read(_ file: String?, port: Int) throws -> String? {
    if let file {
      guard let data = try? Data(contentsOf: URL(fileURLWithPath: file)) else {
        throw TokenFileError("the token file \(file) cannot be read: check BATON_TOKEN_FILE and its permissions")
      }
      return text(data)
    }
    let path = published(port: port)
    guard isOurs(path), let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return nil }
    return text(data)
  }

  /// The token of the data folder, made if there is none.
  package static func own(dataFolder: String) throws -> String {
    let own = dataFolder + "/token"
    if let data = try? Data(contentsOf: URL(fileURLWithPath: own)), !text(data).isEmpty { return text(data) }
    let token = (0..<64).map { _ in String("0123456789abcdef".randomElement() ?? "0") }.joined()
    try write(token, to: own)
    return token
  }

  /// Lets clients of the same user find the token of the coordinator on `port`.
  package static func publish(_ token: String, port: Int) throws {
    let folder = runtimeFolder()
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw TokenFileError(
        "the folder \(folder) for the token cannot be made: \(String(cString: strerror(errno))); "
          + "check XDG_RUNTIME_DIR")
    }
    guard isOurs(folder) else {
      throw TokenFileError("\(folder) belongs to somebody else: set XDG_RUNTIME_DIR to a folder of your own")
    }
    try write(token, to: published(port: port))
  }

  /// Takes the published token away, unless another coordinator has published its own there since.
  package static func withdraw(_ token: String, port: Int) {
    let path = published(port: port)
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)), text(data) == token else { return }
    unlink(path)
  }

  /// A link or another user's file is not trusted.
  private static func isOurs(_ path: String) -> Bool {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return false }
    return attributes[.type] as? FileAttributeType != .typeSymbolicLink
      && attributes[.ownerAccountID].flatMap { UInt32("\($0)") } == getuid()
  }

  private static func write(_ token: String, to path: String) throws {
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw TokenFileError("the token cannot be written to \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    let bytes = Array((token + "\n").utf8)
    guard bytes.withUnsafeBytes({ systemWrite(file, $0.baseAddress, $0.count) }) == bytes.count else {
      throw TokenFileError("the token cannot be written to \(path): \(String(cString: strerror(errno)))")
    }
  }

  private static func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      Glibc.write(file, bytes, count)
    #elseif canImport(Musl)
      Musl.write(file, bytes, count)
    #else
      Darwin.write(file, bytes, count)
    #endif
  }

  private static func text(_ data: Data) -> String {
    String(String(decoding: data, as: UTF8.self).filter { !$0.isWhitespace })
  }
}

package struct TokenFileError: Error, Sendable, CustomStringConvertible {
  package var description: String
  init(_ description: String) { self.description = description }
}
