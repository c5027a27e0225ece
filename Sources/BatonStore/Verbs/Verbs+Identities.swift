package import BatonModel

extension Verbs {
  package func invite(_ invitation: Invitation, at now: Moment) throws {
    try need(.identities)
    try prepare(.dropInvitations).run(now.date + (.zero - Invitation.repetition))
    try prepare(.insertInvitation).run(
      invitation.id, invitation.host.rawValue, invitation.digest, invitation.end, invitation.principal,
      invitation.needsApproval)
  }

  package func invitation(_ id: [UInt8]) throws -> Invitation? {
    try need(.identities)
    return try prepare(.invitation).first(id) { Self.invitation($0) }
  }

  package func invitations(of host: HostName) throws -> [Invitation] {
    try prepare(.invitationsOf).all(host.rawValue) { Self.invitation($0) }
  }

  private static func invitation(_ row: Columns) -> Invitation {
    Invitation(
      id: row.blob(0), host: HostName(row.text(1)), digest: row.blob(2), end: row.time(3), principal: row.text(4),
      needsApproval: row.bool(7), approvedKey: row.optionalBlob(8), isUsed: !row.isNull(5))
  }

  package func admit(
    _ certificate: HostCertificate, by id: [UInt8], digest: [UInt8], at now: Moment
  ) throws -> HostCertificate {
    try need(.identities)
    let found = try prepare(.invitation).first(id) { row in
      (invitation: Self.invitation(row), serial: row.optionalBlob(5), joinedAt: row.optionalTime(6))
    }
    guard let found, found.invitation.digest == digest else { throw Self.noInvitation }
    if let serial = found.serial, let joinedAt = found.joinedAt {
      guard let known = try self.certificate(serial), known.key == certificate.key, !known.isRevoked,
        now.date - joinedAt <= Invitation.repetition
      else {
        throw StoreError(
          .refused,
          "A host has joined with this invitation already; `baton host invite \(found.invitation.host)` makes another.")
      }
      return known
    }
    guard now.date <= found.invitation.end else {
      throw StoreError(
        .refused, "The invitation has expired; `baton host invite \(found.invitation.host)` makes another.")
    }
    guard certificate.host == found.invitation.host else { throw Self.noInvitation }
    guard found.invitation.admits(key: certificate.key) else {
      throw StoreError(.refused, "The host has to be approved first (`baton host approve`).")
    }
    try insert(certificate, at: now)
    try prepare(.useInvitation).run(certificate.serial, now.date, id)
    // The name belonged to the worker that had it before, which may have been another machine.
    try need(.host(certificate.host))
    try prepare(.forgetSecret).run(certificate.host.rawValue)
    return certificate
  }

  package func approve(_ id: [UInt8], key: [UInt8]) throws {
    try need(.identities)
    guard let known = try invitation(id), known.needsApproval else { throw Self.noInvitation }
    try prepare(.approveInvitation).run(key, id)
  }

  private static let noInvitation = StoreError(.refused, Invitation.unknown)

  package func renew(_ certificate: HostCertificate, after serial: [UInt8], at now: Moment) throws {
    try need(.identities)
    guard let known = try self.certificate(serial), known.host == certificate.host, !known.isRevoked else {
      throw StoreError(
        .refused, "The certificate of host \(certificate.host) was revoked; the host has to join again.")
    }
    try insert(certificate, at: now)
  }

  private func insert(_ certificate: HostCertificate, at now: Moment) throws {
    try prepare(.dropCertificates).run(now.date + (.zero - HostCertificate.rejoinTime))
    try prepare(.insertCertificate).run(
      certificate.serial, certificate.host.rawValue, certificate.key, certificate.der, certificate.end)
  }

  private func certificate(_ serial: [UInt8]) throws -> HostCertificate? {
    try prepare(.certificate).first(serial) { Self.certificate($0) }
  }

  private static func certificate(_ row: Columns) -> HostCertificate {
    HostCertificate(
      serial: row.blob(0), host: HostName(row.text(1)), key: row.blob(2), der: row.blob(3), end: row.time(4),
      isRevoked: row.bool(5))
  }

  package func revoke(_ host: HostName) throws {
    try need(.identities)
    try prepare(.dropInvitationsOf).run(host.rawValue)
    try prepare(.revokeCertificates).run(host.rawValue)
    try need(.host(host))
    try prepare(.forgetSecret).run(host.rawValue)
  }

  package func identityMark() throws -> [Int64] {
    try prepare(.identityMark).first { row in (0..<6).map { row.int64($0) } } ?? []
  }

  package func certificates() throws -> [HostCertificate] {
    try prepare(.certificates).all { Self.certificate($0) }
  }
}

extension Query {
  private static let invitationColumns =
    "SELECT id, host, digest, ends_at, principal, serial, joined_at, needs_approval, approved_key FROM invitation"
  private static let certificateColumns = "SELECT serial, host, key, der, ends_at, is_revoked FROM certificate"

  static let invitation = Query(invitationColumns + " WHERE id = ?")
  static let invitationsOf = Query(invitationColumns + " WHERE host = ? ORDER BY id")
  static let insertInvitation = Query(
    "INSERT INTO invitation (id, host, digest, ends_at, principal, needs_approval) VALUES (?, ?, ?, ?, ?, ?)")
  static let useInvitation = Query("UPDATE invitation SET serial = ?, joined_at = ? WHERE id = ?")
  static let approveInvitation = Query("UPDATE invitation SET approved_key = ? WHERE id = ?")
  /// The invitations that have ended before a time, also those that were used.
  static let dropInvitations = Query("DELETE FROM invitation WHERE ends_at < ?")
  static let dropInvitationsOf = Query("DELETE FROM invitation WHERE host = ? AND serial IS NULL")
  static let certificate = Query(certificateColumns + " WHERE serial = ?")
  static let insertCertificate = Query(
    "INSERT INTO certificate (serial, host, key, der, ends_at) VALUES (?, ?, ?, ?, ?)")
  /// Certificates that have ended long ago prove nothing, revoked or not.
  static let dropCertificates = Query("DELETE FROM certificate WHERE ends_at < ?")
  static let revokeCertificates = Query("UPDATE certificate SET is_revoked = 1 WHERE host = ?")
  static let identityMark = Query(
    """
    SELECT c.count, c.revoked, c.latest, o.count, o.revoked, o.latest FROM (
      SELECT count(*) AS count, coalesce(CAST(sum(is_revoked) AS bigint), 0) AS revoked,
        coalesce(max(ends_at), 0) AS latest FROM certificate) AS c, (
      SELECT count(*) AS count, coalesce(CAST(sum(is_revoked) AS bigint), 0) AS revoked,
        coalesce(max(created_at), 0) AS latest FROM credential) AS o
    """)
  static let certificates = Query(certificateColumns + " ORDER BY serial")
}
