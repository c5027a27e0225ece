import BatonBase
import BatonModel
import CBatonProcess

/// Where the owner of this host keeps the secrets of jobs: a folder, and the credentials that systemd gave to the
/// worker.
package struct SecretFolder: Hashable, Sendable {
  package var path: String
  /// The folder that `CREDENTIALS_DIRECTORY` names; `nil` if systemd gave no credentials.
  package var credentials: String?

  package static let usualPath = "/etc/baton/secrets"
  /// The most bytes of a secret.
  package static let maximumBytes = 64 << 10

  package init(path: String = Self.usualPath, credentials: String? = nil) {
    self.path = path
    self.credentials = credentials
  }

  /// Reads a secret, without the line feed at its end. A credential, whose name has `-` in place of each `/`, takes
  /// precedence over a file in the folder.
  ///
  /// The file must be regular, belong to root or to this user, and be readable by its owner only. No symbolic link is
  /// followed, and only root or this user may write into the folders that lead to it.
  /// - Parameter file: a file that `Secret.isFile` accepts.
  /// - Throws: `SystemError` with the path of the file and never with its content.
  package func read(_ file: String) throws(SystemError) -> [UInt8] {
    precondition(Secret.isFile(file), "'\(file)' is not the file of a secret")
    let name = file.replacing("/", with: "-")
    if let credentials, let found = try read(name, in: credentials, isCredential: true) { return found }
    if let found = try read(file, in: path, isCredential: false) { return found }
    let places = ["\(path)/\(file)"] + (credentials.map { ["\($0)/\(name)"] } ?? [])
    throw SystemError(.failed, "there is no file \(places.joined(separator: ", and no file "))")
  }

  /// - Returns: `nil` if there is no such file.
  private func read(_ file: String, in folder: String, isCredential: Bool) throws(SystemError) -> [UInt8]? {
    let place = "\(folder)/\(file)"
    let descriptor = baton_open_secret(folder, file, isCredential ? 1 : 0)
    guard descriptor >= 0 else {
      if descriptor == -1, errno == ENOENT { return nil }
      throw SystemError(.failed, Self.problem(descriptor, place))
    }
    let secret = OpenFile(descriptor)
    var bytes: [UInt8] = []
    while bytes.count <= Self.maximumBytes {
      guard let more = SystemCall.read(secret.descriptor, limit: Self.maximumBytes + 2 - bytes.count) else {
        throw SystemCall.failure("cannot read", place)
      }
      if more.isEmpty { break }
      bytes += more
    }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.isEmpty { throw SystemError(.failed, "\(place) is empty") }
    guard bytes.count <= Self.maximumBytes else {
      throw SystemError(.failed, "\(place) has more than \(Self.maximumBytes >> 10) KiB")
    }
    return bytes
  }

  private static func problem(_ result: Int32, _ place: String) -> String {
    let code = errno
    switch result {
    case BATON_NOT_REGULAR: return "\(place) is no regular file"
    case BATON_SECRET_OWNER: return "\(place) belongs to another user than root and the worker's user"
    case BATON_SECRET_MODE: return "other users than its owner may open \(place): chmod 0400 \(place)"
    case BATON_SECRET_FOLDER:
      return "a folder of \(place) belongs to, or is writable by, another user than root and the worker's user"
    default: break
    }
    if code == ELOOP || code == ENOTDIR { return "\(place) is, or leads through, a symbolic link, or no folder" }
    return "cannot open \(place): \(SystemCall.explanation(of: code))"
  }
}

extension OpenFile {
  /// A file without a name that has these bytes. On Linux nothing can change it any more. Its offset is 0.
  package static func sealed(_ bytes: [UInt8]) throws(SystemError) -> OpenFile {
    let descriptor = bytes.withUnsafeBytes { baton_sealed_file($0.baseAddress, UInt($0.count)) }
    guard descriptor >= 0 else { throw SystemCall.failure("cannot make", "a file without a name") }
    return OpenFile(descriptor)
  }
}
