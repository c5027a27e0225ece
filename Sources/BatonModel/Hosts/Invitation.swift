/// An operator's permission for one new host to join the fleet. It names the host; nothing that the host says about
/// itself is believed.
package struct Invitation: Hashable, Sendable {
  /// 8 random bytes.
  package var id: [UInt8]
  /// The name that the host gets.
  package var host: HostName
  /// The SHA-256 of the secret that the host has to show: 32 bytes.
  package var digest: [UInt8]
  /// After this time, on the wall clock, it permits no join.
  package var end: Timestamp
  /// Who invited the host.
  package var principal: String
  /// Whether an operator has to approve the key of the host that shows the secret.
  package var needsApproval: Bool
  /// The SHA-256 of the public key that an operator has approved: 32 bytes.
  package var approvedKey: [UInt8]?
  /// Whether a host has joined with it.
  package var isUsed: Bool

  package init(
    id: [UInt8], host: HostName, digest: [UInt8], end: Timestamp, principal: String, needsApproval: Bool = false,
    approvedKey: [UInt8]? = nil, isUsed: Bool = false
  ) {
    (self.id, self.host, self.digest, self.end, self.principal) = (id, host, digest, end, principal)
    (self.needsApproval, self.approvedKey, self.isUsed) = (needsApproval, approvedKey, isUsed)
  }

  /// Whether a host with this key may join.
  /// - Parameter key: the SHA-256 of its public key.
  package func admits(key: [UInt8]) -> Bool { !needsApproval || approvedKey == key }

  /// The answer to an unknown invitation and to a wrong secret. It is the same for both, so that who guesses learns
  /// nothing.
  package static let unknown = "There is no invitation with this token; `baton host invite NAME` makes one."

  /// How long an invitation is valid, unless its operator says otherwise.
  package static let lifetime = Duration.seconds(15 * 60)
  /// The longest time for which an invitation may be valid.
  package static let longestLifetime = Duration.seconds(7 * 86_400)
  /// How long the same host may ask again with the same key, because it may not have got the answer.
  package static let repetition = Duration.seconds(600)
}

/// A certificate by which a host proves its name to the fleet's coordinators.
package struct HostCertificate: Hashable, Sendable {
  /// The certificate's serial number, as it is in the certificate: up to 20 bytes.
  package var serial: [UInt8]
  package var host: HostName
  /// The SHA-256 of the public key: 32 bytes.
  package var key: [UInt8]
  /// The certificate itself (DER).
  package var der: [UInt8]
  /// The last moment at which it is valid, on the wall clock.
  package var end: Timestamp
  package var isRevoked: Bool

  /// How long after its end a certificate still counts for one thing: a host that was off for long gets another one,
  /// if it has the key.
  package static let rejoinTime = Duration.seconds(30 * 86_400)

  package init(
    serial: [UInt8], host: HostName, key: [UInt8], der: [UInt8], end: Timestamp, isRevoked: Bool = false
  ) {
    (self.serial, self.host, self.key, self.der) = (serial, host, key, der)
    (self.end, self.isRevoked) = (end, isRevoked)
  }
}
