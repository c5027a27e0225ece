package import BatonModel
import SwiftASN1
package import X509

/// The authority of a fleet, and the one that will take its place while the root is being replaced (rotated).
///
/// A root is replaced in two starts of the coordinator. `rotate` writes the next authority beside the present one. From
/// the next start on, hosts are given certificates of the next authority, and both roots to trust, while coordinators
/// still show certificates of the present one, because there are hosts that know no other root. At the first later
/// start at which every host has a certificate of the next authority, the next one takes its place. The first start
/// never ends the replacement, because operators learn the next root while it serves.
///
/// Both are in one file of the coordinator's data folder: root certificates and keys (PEM), the present one first. A
/// user who has this file can admit hosts to the fleet and can be its coordinator. Without it no host can join or renew
/// its certificate, so it belongs into every backup.
package struct FleetAuthorities: Sendable {
  /// Signs the certificates of coordinators. Its pin is the fleet's.
  package let present: FleetAuthority
  /// Takes the place of `present` later; `nil` if the root is not being replaced.
  package let next: FleetAuthority?

  package init(_ present: FleetAuthority, next: FleetAuthority? = nil) { (self.present, self.next) = (present, next) }

  /// Signs the certificates of hosts.
  package var ofHosts: FleetAuthority { next ?? present }
  /// The roots that clients are to trust.
  package var roots: [Certificate] { [present.root] + (next.map { [$0.root] } ?? []) }

  /// The path of the file.
  package static func path(dataFolder: String) -> String { dataFolder + "/authority.pem" }

  /// The authorities of this data folder. One is drawn and written durably if there is none.
  /// - Throws: `IdentityError` if the file cannot be read or written, or if another user may read it or the folder.
  package static func own(dataFolder: String, at now: Timestamp) throws(IdentityError) -> FleetAuthorities {
    try PrivateFile.checkFolder(dataFolder)
    if let known = try read(dataFolder: dataFolder) { return known }
    let drawn: FleetAuthorities
    do { drawn = FleetAuthorities(try FleetAuthority(at: now)) } catch {
      throw IdentityError("the fleet's authority cannot be made: \(error)")
    }
    try drawn.write(dataFolder: dataFolder)
    return drawn
  }

  /// Draws the next authority, and writes it durably beside the present one. It is used from the next start on.
  /// - Throws: `IdentityError` if the root is being replaced already, or the file cannot be written.
  package static func rotate(dataFolder: String, at now: Timestamp) throws(IdentityError) {
    let known = try own(dataFolder: dataFolder, at: now)
    guard known.next == nil else { throw IdentityError("the fleet's root is being replaced already") }
    let next: FleetAuthority
    do { next = try FleetAuthority(after: known.present, at: now) } catch {
      throw IdentityError("the fleet's next authority cannot be made: \(error)")
    }
    try FleetAuthorities(known.present, next: next).write(dataFolder: dataFolder)
  }

  /// The next authority in the place of the present one, written durably.
  package func completed(dataFolder: String) throws(IdentityError) -> FleetAuthorities {
    guard let next else { return self }
    let completed = FleetAuthorities(next)
    try completed.write(dataFolder: dataFolder)
    return completed
  }

  /// Notes durably that a coordinator of this data folder has listened with both roots known. The note names the next
  /// root, so that it counts for no later one.
  package func noteServing(dataFolder: String) throws(IdentityError) {
    guard let next, try !haveServed(dataFolder: dataFolder) else { return }
    try PrivateFile.write(Array("\(next.pin)\n".utf8), to: Self.servedPath(dataFolder))
  }

  /// Whether a coordinator of this data folder has listened with both of these roots known.
  package func haveServed(dataFolder: String) throws(IdentityError) -> Bool {
    guard let next, let bytes = try PrivateFile.read(Self.servedPath(dataFolder)) else { return false }
    return bytes == Array("\(next.pin)\n".utf8)
  }

  /// The file that names the next root with which a coordinator has listened. Without the file, the replacement of the
  /// root takes one more start.
  private static func servedPath(_ dataFolder: String) -> String { dataFolder + "/next-root" }

  /// The authorities of this data folder; `nil` if it has none.
  package static func read(dataFolder: String) throws(IdentityError) -> FleetAuthorities? {
    let path = path(dataFolder: dataFolder)
    guard let bytes = try PrivateFile.read(path) else { return nil }
    do throws(IdentityError) {
      let documents = try documents(in: bytes)
      let roots = documents.filter { $0.discriminator == "CERTIFICATE" }
      let keys = documents.filter { $0.discriminator.hasSuffix("PRIVATE KEY") }
      guard (1...2).contains(roots.count), roots.count == keys.count else {
        throw IdentityError("it has not one or two certificates, each with its key")
      }
      let authorities = try zip(roots, keys).map { root, key throws(IdentityError) in
        try FleetAuthority(rootPEM: root.pemString, keyPEM: key.pemString)
      }
      guard authorities.allSatisfy({ $0.fleet == authorities[0].fleet }) else {
        throw IdentityError("its certificates are of different fleets")
      }
      return FleetAuthorities(authorities[0], next: authorities.dropFirst().first)
    } catch {
      throw IdentityError("\(path) is not the authority of a fleet, put it back from a backup: \(error)")
    }
  }

  private func write(dataFolder: String) throws(IdentityError) {
    let text: String
    do {
      text = try ([present] + (next.map { [$0] } ?? [])).map { try $0.rootPEM() + "\n" + $0.keyPEM() + "\n" }.joined()
    } catch {
      throw IdentityError("the fleet's authority cannot be written as PEM: \(error)")
    }
    try PrivateFile.write(Array(text.utf8), to: Self.path(dataFolder: dataFolder))
  }

  private static func documents(in bytes: [UInt8]) throws(IdentityError) -> [PEMDocument] {
    do { return try PEMDocument.parseMultiple(pemString: String(decoding: bytes, as: UTF8.self)) } catch {
      throw IdentityError("it is not PEM: \(error)")
    }
  }
}
