import BatonBase
import SystemPackage

/// The file with the secret that a coordinator asks every client for. It asks on loopback too, because other users of
/// the machine can connect there. The token is kept in the coordinator's data folder and, for clients of the same user,
/// in a folder of `RuntimeFolders`.
///
/// A token has 32 to 1,024 printable ASCII characters. A file that other users can read, or that contains anything
/// else, is refused with a message that names the file and the remedy.
package enum TokenFile {
  /// The smallest number of characters of a token.
  package static let shortest = 32
  /// The largest number of characters of a token.
  package static let longest = 1024

  /// Reads the token of the coordinator on `port`.
  /// - Parameter file: the path that `BATON_TOKEN_FILE` or the configuration names; `nil` stands for the file that the
  ///   coordinator published.
  /// - Returns: `nil` if there is no published file. The coordinator then does not run, or belongs to another user.
  /// - Throws: `TokenFileError` if the file cannot be read or is refused.
  package static func read(_ file: String?, port: Int, in folders: RuntimeFolders = RuntimeFolders()) throws -> String?
  {
    if let file {
      guard let token = try contents(of: file, orElse: copyAdvice) else {
        throw TokenFileError(
          .refused, "the token file \(file) is not there: check BATON_TOKEN_FILE or the setting tokenFile")
      }
      return token
    }
    guard let path = folders.file("\(port).token") else { return nil }
    return try contents(of: path, orElse: "restart the coordinator, which writes it again")
  }

  private static let copyAdvice = "copy the coordinator's token there again (mode 0600)"

  /// Reads the token of the data folder. If the folder has no token, draws one and writes it; the complete file is on
  /// the disk before this returns.
  /// - Parameter sync: makes the file or folder of a descriptor durable, and returns 0 on success. Tests replace it.
  /// - Throws: `TokenFileError` if there is a file that contains no token. It is not replaced by a new token, because
  ///   every worker with a copy of the old token would be refused.
  package static func own(
    dataFolder: String, syncing sync: @escaping (Int32) -> Int32 = { fsync($0) }
  ) throws -> String {
    let path = dataFolder + "/token"
    let advice =
      "remove the file and start the coordinator again, which then makes a new token. Commands and workers of its "
      + "own user find the new token by themselves; those that read a copy (BATON_TOKEN_FILE) need a new copy"
    if let token = try contents(of: path, orElse: advice) { return token }
    let token = drawn()
    try write(token, to: path, sync: sync)
    return token
  }

  /// The token in the file that a worker's programs for metrics read. One is drawn if there is none.
  /// - Throws: `TokenFileError` if there is a file that contains no token.
  package static func ownForMetrics(dataFolder: String) throws -> String {
    let path = dataFolder + "/metrics-token"
    if let token = try contents(of: path, orElse: "remove the file; the worker then makes a new token") { return token }
    let token = drawn()
    try write(token, to: path, sync: nil)
    return token
  }

  /// 64 hexadecimal digits from the system's random numbers.
  private static func drawn() -> String {
    (0..<64).map { _ in String("0123456789abcdef".randomElement() ?? "0") }.joined()
  }

  /// Publishes the token of the coordinator on `port`, so that programs of the same user find it; and where its data
  /// folder is, so that workers hide it from commands.
  /// - Parameters:
  ///   - dataFolder: an absolute path; `nil` publishes none.
  ///   - folder: a folder that `RuntimeFolders.own` returned.
  package static func publish(_ token: String, port: Int, dataFolder: String? = nil, in folder: String) throws {
    // The data folder comes first: once the token is there, a worker may connect.
    if let dataFolder { try write(dataFolder, to: RuntimeFolders.dataFile(port, in: folder), sync: nil) }
    try write(token, to: "\(folder)/\(port).token", sync: nil)
  }

  /// Removes the published token, unless another coordinator has published its own there in the meantime.
  package static func withdraw(_ token: String, port: Int, from folder: String) {
    let path = "\(folder)/\(port).token"
    guard (try? contents(of: path, orElse: "")) == token else { return }
    unlink(path)
    // It belongs to the coordinator that published this token.
    unlink(RuntimeFolders.dataFile(port, in: folder))
  }

  // MARK: Reading

  /// Reads the token in a file. Returns `nil` if there is no file.
  /// - Parameter advice: what to do if the file contains no valid token, for the error message.
  private static func contents(of path: String, orElse advice: String) throws -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw TokenFileError(.refused, "the token file \(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    try checkMode(of: file, path)
    var bytes = [UInt8](repeating: 0, count: 4 * longest)
    var count = 0
    while count < bytes.count {
      let added = bytes.withUnsafeMutableBytes { systemRead(file, $0.baseAddress! + count, $0.count - count) }
      guard added >= 0 else {
        throw TokenFileError(.refused, "the token file \(path) cannot be read: \(String(cString: strerror(errno)))")
      }
      if added == 0 { break }
      count += added
    }
    return try token(in: bytes[..<count], path, advice)
  }

  /// Throws an error if other users may read or write the file, or if its mode cannot be read. Only regular files are
  /// checked, so a pipe is accepted.
  private static func checkMode(of file: Int32, _ path: String) throws {
    guard let status = try? FileDescriptor(rawValue: file).stat() else {
      throw TokenFileError(.refused, "the mode of the token file \(path) cannot be read")
    }
    guard status.type == .regular else { return }
    let mode = status.permissions.rawValue
    guard mode & 0o077 != 0 else { return }
    let octal = String(mode & 0o7777, radix: 8)
    throw TokenFileError(
      .refused,
      "the token file \(path) has mode \(octal), so other users of this machine may command the fleet with it: "
        + "chmod 600 \(path)")
  }

  /// The token in the contents of a file. White space is ignored.
  private static func token(in bytes: ArraySlice<UInt8>, _ path: String, _ advice: String) throws -> String {
    let token = bytes.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
    if token.isEmpty { throw TokenFileError(.refused, "the token file \(path) is empty: \(advice)") }
    guard token.count >= shortest else {
      throw TokenFileError(
        .refused,
        "the token in \(path) has \(token.count) characters, but needs at least \(shortest), because a shorter token "
          + "can be guessed: \(advice)")
    }
    guard token.count <= longest, token.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw TokenFileError(.refused, "the file \(path) does not contain a token: \(advice)")
    }
    return String(decoding: token, as: UTF8.self)
  }

  // MARK: Writing

  /// Writes the file so that it contains the whole token or does not exist, even if the process is interrupted.
  /// - Parameter sync: makes the file durable; if it is `nil`, the system decides when the file reaches the disk.
  private static func write(_ token: String, to path: String, sync: ((Int32) -> Int32)?) throws {
    let part = path + ".part"
    unlink(part)
    let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(path) }
    let bytes = Array((token + "\n").utf8)
    let isWritten = bytes.withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) } == bytes.count
    let isSynced = isWritten && (sync?(file) ?? 0) == 0
    let problem = errno
    close(file)
    guard isSynced else {
      unlink(part)
      errno = problem
      throw failure(path)
    }
    guard rename(part, path) == 0 else { throw failure(path) }
    if let sync { try Self.sync(folderOf: path, sync) }
  }

  /// Syncs the folder of a file. The name of a file is durable only after its folder was synced.
  private static func sync(folderOf path: String, _ sync: (Int32) -> Int32) throws {
    let name = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw failure(path) }
    defer { close(folder) }
    guard sync(folder) == 0 else { throw failure(path) }
  }

  private static func failure(_ path: String) -> TokenFileError {
    TokenFileError(.cannotWrite, "the token cannot be written to \(path): \(String(cString: strerror(errno)))")
  }

  private static func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      Glibc.read(file, bytes, count)
    #elseif canImport(Musl)
      Musl.read(file, bytes, count)
    #else
      Darwin.read(file, bytes, count)
    #endif
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
}

/// Why there is no token that can be used. The description says what to do.
package struct TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The file cannot be read, or its content or mode is refused. Trying again cannot help until a person repairs the
    /// file.
    case refused
    /// A file or folder for a token cannot be created.
    case cannotWrite
  }

  package let code: Code
  package let description: String

  package init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}
