import SwiftASN1
package import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What an operator keeps of a login: where the fleet's coordinator listens, how it is recognised, and the credential.
/// It is a file of mode 0600 in the operator's configuration folder, one for each fleet.
package struct FleetLogin: Hashable, Sendable {
  /// The fleet's id.
  package var fleet: String
  /// Where the coordinator listens for operators, `HOST:PORT`; of several coordinators the addresses, separated by
  /// commas.
  package var address: String
  /// The fleet's root certificates (PEM).
  package var roots: [String]
  /// The token of the operator's credential.
  package var token: CredentialToken

  /// - Parameter root: the root that the pin named.
  /// - Throws: `IdentityError` if `root` is not the root of a fleet.
  package init(address: String, root: Certificate, token: CredentialToken) throws(IdentityError) {
    fleet = try FleetAuthority.fleet(of: root)
    do { roots = [try root.pem] } catch { throw IdentityError("the certificate cannot be written as PEM: \(error)") }
    (self.address, self.token) = (address, token)
  }

  /// Takes over the roots that the coordinator says, so that the login outlives a replaced root.
  /// - Parameter roots: the roots in DER.
  /// - Returns: whether they are others than before.
  /// - Throws: `IdentityError` unless they are one or two roots of this fleet, of which one is known.
  package mutating func learn(roots: [[UInt8]]) throws(IdentityError) -> Bool {
    let parsed = try roots.map { der throws(IdentityError) in try Certificate(der: der) }
    do {
      let known = try self.roots.map { try Certificate(pemEncoded: $0) }
      guard (1...2).contains(parsed.count), parsed.contains(where: known.contains),
        try parsed.allSatisfy({ try FleetAuthority.fleet(of: $0) == fleet })
      else { throw IdentityError("the coordinator's roots are not those of fleet \(fleet)") }
      guard Set(parsed) != Set(known) else { return false }
      self.roots = try parsed.map { try $0.pem }
      return true
    } catch let error as IdentityError {
      throw error
    } catch {
      throw IdentityError("a root cannot be read or written as PEM: \(error)")
    }
  }

  /// - Parameter root: the root (DER).
  package init(address: String, root: [UInt8], token: CredentialToken) throws(IdentityError) {
    try self.init(address: address, root: try Certificate(der: root), token: token)
  }

  /// - Parameter roots: the fleet's roots (PEM), one or two, as `baton fleet roots` prints them.
  /// - Throws: `IdentityError` if they are not roots of one fleet.
  package init(address: String, roots: String, token: CredentialToken) throws(IdentityError) {
    let parsed: [Certificate]
    do { parsed = try PEMDocument.parseMultiple(pemString: roots).map { try Certificate(pemDocument: $0) } } catch {
      throw IdentityError("the roots are not certificates in PEM, as 'baton fleet roots' prints them: \(error)")
    }
    guard let first = parsed.first, parsed.count <= 2 else {
      throw IdentityError("a fleet has one or two roots, not \(parsed.count): see 'baton fleet roots'")
    }
    try self.init(address: address, root: first, token: token)
    for other in parsed.dropFirst() where try FleetAuthority.fleet(of: other) != fleet {
      throw IdentityError("the roots are those of different fleets: see 'baton fleet roots'")
    }
    do { self.roots = try parsed.map { try $0.pem } } catch {
      throw IdentityError("a certificate cannot be written as PEM: \(error)")
    }
  }

  /// The name of the fleet that commands use if no other is named.
  package static let defaultName = "default"

  /// Whether an operator may give a fleet this name: 1 to 64 letters, digits, `-` and `_`.
  package static func isWellFormed(name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
          || byte == 0x5F
      }
  }

  /// The path of the file of a fleet.
  /// - Parameter folder: the operator's configuration folder, such as `~/.config/baton`.
  package static func path(_ name: String, in folder: String) -> String { "\(folder)/fleets/\(name).json" }

  /// The names of the fleets that an operator has logged in to, in order.
  package static func names(in folder: String) -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/fleets")) ?? []
    return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.filter(isWellFormed).sorted()
  }

  /// Reads the login of a fleet. Returns `nil` if there is none.
  /// - Throws: `IdentityError` if the file cannot be read or is none, or if another user may read or change it.
  package static func read(_ name: String, in folder: String) throws(IdentityError) -> FleetLogin? {
    let path = path(name, in: folder)
    guard let bytes = try PrivateFile.read(path) else { return nil }
    do {
      let file = try JSONDecoder().decode(File.self, from: Data(bytes))
      return FleetLogin(
        fleet: file.fleet, address: file.address, roots: file.roots, token: try CredentialToken(parsing: file.token))
    } catch {
      throw IdentityError("\(path) is not the login of a fleet (\(error)): log in again (baton login)")
    }
  }

  /// Writes the login durably, and makes its folders, which other users may not read.
  package func write(_ name: String, in folder: String) throws(IdentityError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes: [UInt8]
    do {
      try FileManager.default.createDirectory(
        atPath: folder + "/fleets", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      bytes =
        Array(
          try encoder.encode(File(fleet: fleet, address: address, roots: roots, token: token.description))) + [0x0A]
    } catch {
      throw IdentityError("the login cannot be kept in \(folder)/fleets: \(error)")
    }
    try PrivateFile.write(bytes, to: Self.path(name, in: folder))
  }

  /// Removes the login of a fleet.
  /// - Returns: false if there was none.
  package static func remove(_ name: String, in folder: String) throws(IdentityError) -> Bool {
    let path = path(name, in: folder)
    guard FileManager.default.fileExists(atPath: path) else { return false }
    do { try FileManager.default.removeItem(atPath: path) } catch {
      throw IdentityError("\(path) cannot be removed: \(error)")
    }
    return true
  }

  private init(fleet: String, address: String, roots: [String], token: CredentialToken) {
    (self.fleet, self.address, self.roots, self.token) = (fleet, address, roots, token)
  }

  private struct File: Codable {
    var fleet: String
    var address: String
    var roots: [String]
    var token: String
  }
}
