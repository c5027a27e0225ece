import BatonIdentity
import Synchronization

/// A file of revocations in the coordinator's data folder: each line has the number of what was revoked (the serial
/// number of a certificate, or the id of a credential) and its name. It stands beside the store and not in it, so that
/// what was revoked stays revoked when an older copy of the store is put back.
final class RevocationFile: Sendable {
  private let path: String
  private let what: String
  /// Lets one change in at a time.
  private let turn = Mutex(())

  /// - Parameter what: what a line has, for the error message.
  init(path: String, what: String) { (self.path, self.what) = (path, what) }

  /// The numbers in the file; none if there is no file.
  /// - Throws: `IdentityError` if the file cannot be read, or if a line is not a number and a name.
  func serials() throws(IdentityError) -> Set<[UInt8]> { Set(try lines().map(\.serial)) }

  /// Adds lines durably.
  func add(_ serials: [[UInt8]], of name: String) throws(IdentityError) {
    let result = turn.withLock { _ in Result { () throws(IdentityError) in try append(serials, of: name) } }
    try result.get()
  }

  private func append(_ serials: [[UInt8]], of name: String) throws(IdentityError) {
    let lines = try lines()
    let known = Set(lines.map(\.serial))
    let added = serials.filter { !known.contains($0) }.map { (serial: $0, name: name) }
    guard !added.isEmpty else { return }
    let text = (lines + added).map { "\(Hexadecimal.text($0.serial)) \($0.name)\n" }.joined()
    try PrivateFile.write(Array(text.utf8), to: path)
  }

  private func lines() throws(IdentityError) -> [(serial: [UInt8], name: String)] {
    guard let bytes = try PrivateFile.read(path) else { return [] }
    var lines: [(serial: [UInt8], name: String)] = []
    for (number, line) in String(decoding: bytes, as: UTF8.self).split(separator: "\n").enumerated() {
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let serial = Hexadecimal.bytes(words[0]) else {
        throw IdentityError("\(path), line \(number + 1), is not \(what): put the file back from a backup")
      }
      lines.append((serial, String(words[1])))
    }
    return lines
  }
}
