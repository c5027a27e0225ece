package import BatonModel
package import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How a client that has only the pin recognises a coordinator: by the certificates that the coordinator shows in the
/// TLS handshake. It is used once, when a host joins or an operator logs in. Afterwards clients have the root, and the
/// TLS library checks the certificates.
package enum CoordinatorCheck {
  /// The root with this pin among the certificates, if the first certificate is a coordinator's that this root has
  /// signed.
  /// - Parameter shown: the certificates in the order in which they were sent (DER).
  /// - Throws: `IdentityError` that says why the coordinator is not the pinned fleet's.
  package static func root(
    pinned pin: Pin, among shown: [[UInt8]], at now: Timestamp
  ) throws(IdentityError) -> Certificate {
    guard let first = shown.first, shown.count <= 8 else { throw IdentityError("it shows no certificate") }
    let certificates = try shown.map { der throws(IdentityError) in try Certificate(der: der) }
    guard let root = certificates.first(where: { Pin(of: $0) == pin }) else {
      throw IdentityError("its certificate is not of the fleet with this pin")
    }
    let fleet = try FleetAuthority.fleet(of: root)
    let leaf = try Certificate(der: first)
    guard leaf.issuer == root.subject, root.publicKey.isValidSignature(leaf.signature, for: leaf) else {
      throw IdentityError("its certificate was not signed by the fleet with this pin")
    }
    guard leaf.notValidBefore <= Date(now), Date(now) <= leaf.notValidAfter else {
      throw IdentityError(
        "its certificate is valid from \(leaf.notValidBefore) to \(leaf.notValidAfter): compare both clocks")
    }
    guard let usage = try? leaf.extensions.extendedKeyUsage, usage.contains(.serverAuth),
      let names = try? leaf.extensions.subjectAlternativeNames,
      names.contains(.dnsName(FleetAuthority.coordinatorName(fleet)))
    else { throw IdentityError("its certificate is not that of a coordinator") }
    return root
  }
}
