package import BatonModel
import SwiftASN1

/// The authority in the coordinator's data folder: one file with the root certificate and its key (PEM). A user who has
/// this file can admit hosts to the fleet and can be its coordinator. Without it no host can join or renew its
/// certificate, so it belongs into every backup.
extension FleetAuthority {
  /// The path of the file.
  package static func path(dataFolder: String) -> String { dataFolder + "/authority.pem" }

  /// The authority of this data folder. One is drawn and written durably if there is none.
  /// - Throws: `IdentityError` if the file cannot be read or written, or if another user may read it.
  package static func own(dataFolder: String, at now: Timestamp) throws(IdentityError) -> FleetAuthority {
    if let known = try read(dataFolder: dataFolder) { return known }
    let path = path(dataFolder: dataFolder)
    let drawn: FleetAuthority
    let text: String
    do {
      drawn = try FleetAuthority(at: now)
      text = try drawn.rootPEM() + "\n" + drawn.keyPEM() + "\n"
    } catch {
      throw IdentityError("the fleet's authority cannot be made: \(error)")
    }
    try PrivateFile.write(Array(text.utf8), to: path)
    return drawn
  }

  /// The authority of this data folder; `nil` if it has none.
  package static func read(dataFolder: String) throws(IdentityError) -> FleetAuthority? {
    let path = path(dataFolder: dataFolder)
    guard let bytes = try PrivateFile.read(path) else { return nil }
    do throws(IdentityError) {
      let documents = try documents(in: bytes)
      guard let root = documents.first(where: { $0.discriminator == "CERTIFICATE" }),
        let key = documents.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") })
      else { throw IdentityError("it has no certificate and key") }
      return try FleetAuthority(rootPEM: root.pemString, keyPEM: key.pemString)
    } catch {
      throw IdentityError("\(path) is not the authority of a fleet, put it back from a backup: \(error)")
    }
  }

  private static func documents(in bytes: [UInt8]) throws(IdentityError) -> [PEMDocument] {
    do { return try PEMDocument.parseMultiple(pemString: String(decoding: bytes, as: UTF8.self)) } catch {
      throw IdentityError("it is not PEM: \(error)")
    }
  }
}
