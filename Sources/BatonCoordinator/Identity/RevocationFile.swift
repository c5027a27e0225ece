import BatonIdentity
import BatonModel

/// The file `revoked` in the coordinator's data folder: each line has the serial number of a revoked certificate and
/// the host's name. It stands beside the store and not in it, so that a host stays revoked when an older copy of the
/// store is put back.
struct RevocationFile: Sendable {
  private let path: String

  init(dataFolder: String) { path = dataFolder + "/revoked" }

  /// The serial numbers in the file; none if there is no file.
  /// - Throws: `IdentityError` if the file cannot be read, or if a line is not a serial number and a name.
  func serials() throws(IdentityError) -> Set<[UInt8]> { Set(try lines().map(\.serial)) }

  /// Adds lines durably.
  func add(_ serials: [[UInt8]], of host: HostName) throws(IdentityError) {
    let lines = try lines()
    let known = Set(lines.map(\.serial))
    let added = serials.filter { !known.contains($0) }.map { (serial: $0, host: host.rawValue) }
    guard !added.isEmpty else { return }
    let text = (lines + added).map { "\(Hexadecimal.text($0.serial)) \($0.host)\n" }.joined()
    try PrivateFile.write(Array(text.utf8), to: path)
  }

  private func lines() throws(IdentityError) -> [(serial: [UInt8], host: String)] {
    guard let bytes = try PrivateFile.read(path) else { return [] }
    var lines: [(serial: [UInt8], host: String)] = []
    for (number, line) in String(decoding: bytes, as: UTF8.self).split(separator: "\n").enumerated() {
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let serial = Hexadecimal.bytes(words[0]) else {
        throw IdentityError(
          "\(path), line \(number + 1), is not a serial number and the name of a host: put the file back from a backup")
      }
      lines.append((serial, String(words[1])))
    }
    return lines
  }
}
