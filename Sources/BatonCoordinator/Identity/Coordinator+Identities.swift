import BatonBase
import BatonIdentity
package import BatonModel
import BatonSpec
package import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import X509

/// The calls about the identities of hosts: invitations, joins, renewals and revocations.
extension Coordinator {
  /// - Throws: `OperatorError.invalid` if this coordinator does not listen (`baton run`).
  func identities() throws -> HostIdentities {
    guard let identities = settings.identities else {
      throw OperatorError.invalid("this coordinator serves only its own process")
    }
    return identities
  }

  package func fleet() async throws -> FleetDescription { try identities().description(at: now().date) }

  package func invite(
    _ host: HostName, for lifetime: Duration, by principal: String, needsApproval: Bool
  ) async throws -> InvitedHost {
    let identities = try identities()
    guard host.isWellFormed else {
      throw OperatorError.invalid(
        "'\(host.rawValue.escapedOnOneLine)' cannot be a host's name: it has \(HostName.rule)")
    }
    guard (Duration.seconds(1)...Invitation.longestLifetime).contains(lifetime) else {
      throw OperatorError.invalid("an invitation is valid for 1 second to 7 days")
    }
    let fleet = identities.description(at: self.now().date)
    guard fleet.operators != nil else {
      throw OperatorError.notPermitted(
        "no host can join, because the coordinator listens only on its own machine: restart it with --operators, such as "
          + "--operators 0.0.0.0:7422, and invite the host then; no invitation was made")
    }
    let (token, now) = (JoinToken(), self.now().moment)
    let invitation = Invitation(
      id: token.id, host: host, digest: token.digest, end: now.date + lifetime, principal: principal,
      needsApproval: needsApproval)
    try await translating { try await self.store.invite(invitation, at: now) }
    logger.notice("a host was invited", metadata: [Names.LogKey.host: "\(host)", "by": "\(principal)"])
    return InvitedHost(host: host, token: token, fleet: fleet, end: invitation.end)
  }

  /// Says which hosts cannot come back, because the authority that signed their certificates is not in the data folder
  /// any more. Call it when the certificates were loaded.
  func noteLostRoots(_ identities: HostIdentities) {
    let lost = identities.hostsOfLostRoots(at: now().date)
    guard !lost.isEmpty else { return }
    let named = lost.prefix(FleetDescription.mostAwaitedHosts).map(\.rawValue).joined(separator: ", ")
    let others = lost.count - FleetDescription.mostAwaitedHosts
    logger.error(
      """
      hosts have joined, and this coordinator does not have the authority that signed their certificates, so that they \
      cannot come back: put authority.pem back from a backup, and restart; or let each host join again (baton host \
      invite NAME)
      """,
      metadata: [
        "count": "\(lost.count)", "hosts": "\(named)\(others > 0 ? ", and \(others) more" : "")",
        "file": "\(FleetAuthorities.path(dataFolder: identities.dataFolder))",
      ])
  }

  package func waitingHosts() async throws -> [WaitingHost] {
    let moment = now().moment
    return try await store.waitingHosts(at: moment.steady).map { host in
      var host = host
      host.at = moment.date(ofSteady: host.at)
      return host
    }
  }

  package func approve(_ host: HostName, number: String) async throws {
    do {
      try await translating { try await self.store.approve(host, number: number, at: self.now().steady) }
    } catch OperatorError.notFound {
      throw OperatorError.notFound(
        "no host that waits as \(host.rawValue.escapedOnOneLine) shows this number: compare it with the number on the "
          + "host, and look at 'baton host waiting'. If another number is shown there, the token was copied: 'baton host "
          + "revoke' takes the invitation back")
    }
    logger.notice("a host was approved", metadata: [Names.LogKey.host: "\(host)"])
  }

  package func rotateRoot() async throws -> FleetDescription {
    let identities = try identities()
    do { try FleetAuthorities.rotate(dataFolder: identities.dataFolder, at: now().date) } catch {
      throw OperatorError.conflict("\(error)")
    }
    logger.notice("the fleet's next root was made; restart the coordinator to begin to replace the present one")
    return identities.description(at: now().date)
  }

  /// Where the other coordinators of the fleet serve that live and that other machines can reach. It is empty if that
  /// cannot be read now, because a host can do without.
  func otherCoordinators() async -> [CoordinatorPlace] {
    guard store.isShared, let all = try? await coordinators() else { return [] }
    return all.filter { !$0.isEnded && !$0.answers }.map(\.place).filter { place in
      (try? HostPort(parsing: place.workers)).map { !$0.isLoopback } ?? false
    }
  }

  /// What a host that joins is answered.
  enum JoinAnswer: Sendable {
    case waiting
    case joined(HostName, HostIdentity.Answer, FleetDescription)
  }

  /// Uses an invitation up. The audit log gets a row for the certificate, and rows for invitations that are not valid.
  /// - Parameter request: a request for a certificate, of which only the public key is read.
  /// - Throws: `OperatorError` if the invitation does not permit it, or the request is none.
  func join(_ token: JoinToken, request: [UInt8], from peer: String) async throws -> JoinAnswer {
    let identities = try identities()
    let address = peer.escapedOnOneLine
    let now = self.now().moment
    let certificate: HostCertificate
    do {
      // A certificate is signed only for a host that knows the secret.
      guard let invitation = try await translating({ try await self.store.invitation(token.id) }),
        token.has(digest: invitation.digest), !identities.isSpent(invitation)
      else {
        await callAudit.noteDenied(
          AuditEntry(
            at: now.date, actor: "", credential: nil, peer: peer, method: EnrolmentService.joining, object: ""),
          "no valid invitation")
        throw OperatorError.conflict(Invitation.unknown)
      }
      let key = try HostKey.publicKey(in: request)
      guard invitation.admits(key: key.digest) || now.date > invitation.end else {
        let host = WaitingHost(
          host: invitation.host, number: HostKey.number(of: key, pin: identities.authorities.present.pin),
          peer: address, at: now.steady)
        try await translating {
          try await self.store.noteWaiting(host, invitation: invitation.id, key: key.digest)
        }
        return .waiting
      }
      let drawn = try identities.certificate(for: invitation.host, key: key, at: now.date)
      let entry = AuditEntry(
        at: now.date, actor: invitation.host.rawValue, credential: drawn.serial, peer: peer,
        method: EnrolmentService.joining, object: invitation.host.rawValue, detail: "invitedBy=\(invitation.principal)")
      certificate = try await callAudit.changing(entry) {
        try await self.translating { try await self.store.admit(drawn, by: token.id, digest: token.digest, at: now) }
      }
      try identities.spend([token.id], of: certificate.host)
    } catch let error as IdentityError {
      throw OperatorError.invalid("\(error)")
    } catch {
      callMeter.noteFailedJoin(from: peer.address)
      logger.warning("a host was not admitted", metadata: ["address": "\(address)", "why": "\(error)"])
      throw error
    }
    identities.note(certificate)
    logger.notice(
      "a host has joined", metadata: [Names.LogKey.host: "\(certificate.host)", "address": "\(address)"])
    return .joined(
      certificate.host, try identities.answer(certificate, at: now.date), identities.description(at: now.date))
  }

  /// Gives a host another certificate. The audit log gets a row.
  func renew(_ caller: HostCaller, request: [UInt8], from peer: String) async throws -> HostIdentity.Answer {
    let entry = AuditEntry(
      at: now().date, actor: caller.host.rawValue, credential: caller.serial, peer: peer,
      method: EnrolmentService.renewing, object: caller.host.rawValue)
    return try await callAudit.changing(entry) { try await self.renew(caller.host, after: caller.serial, request) }
  }

  private func renew(_ host: HostName, after serial: [UInt8], _ request: [UInt8]) async throws -> HostIdentity.Answer {
    let identities = try identities()
    let now = self.now().moment
    let certificate: HostCertificate
    do {
      certificate = try identities.certificate(for: host, key: try HostKey.publicKey(in: request), at: now.date)
    } catch {
      throw OperatorError.invalid("\(error)")
    }
    try await translating { try await self.store.renew(certificate, after: serial, at: now) }
    identities.note(certificate)
    logger.info("a host renewed its certificate", metadata: [Names.LogKey.host: "\(host)"])
    return try identities.answer(certificate, at: now.date)
  }

  /// Gives another certificate to a host whose certificate has ended. The audit log gets a row.
  /// - Parameters:
  ///   - der: the certificate that has ended.
  ///   - signature: the signature of its key over the request.
  func rejoin(
    _ der: [UInt8], request: [UInt8], signature: [UInt8], from peer: String
  ) async throws
    -> HostIdentity.Answer
  {
    let identities = try identities()
    let old: Certificate
    do { old = try Certificate(der: der) } catch { throw OperatorError.invalid("\(error)") }
    let isOwner = HostKey.hasSigned(request, signature, key: old.publicKey)
    guard isOwner, let known = identities.rejoining(der, at: now().date) else {
      callMeter.noteFailedRejoin(from: peer.address)
      await callAudit.noteDenied(
        AuditEntry(
          at: now().date, actor: "", credential: Array(old.serialNumber.bytes), peer: peer,
          method: EnrolmentService.rejoining, object: ""),
        "no certificate that may rejoin")
      // Only the owner of the key learns what the coordinator knows of its certificate.
      let doubt = isOwner ? identities.doubt(about: old, at: now().date) : .foreign
      throw OperatorError.notPermitted(doubt.reason)
    }
    logger.notice(
      "a host whose certificate had ended asks for another one",
      metadata: [Names.LogKey.host: "\(known.host)", "address": "\(peer.escapedOnOneLine)"])
    let entry = AuditEntry(
      at: now().date, actor: known.host.rawValue, credential: known.serial, peer: peer,
      method: EnrolmentService.rejoining, object: known.host.rawValue)
    return try await callAudit.changing(entry) { try await self.renew(known.host, after: known.serial, request) }
  }

  private func unknown(_ host: HostName, _ identities: HostIdentities) -> OperatorError {
    let name = host.rawValue
    let near = Values.nearest(to: name, among: identities.hosts.map(\.rawValue))
    return .notFound(
      "no host was invited or has joined as '\(name.escapedOnOneLine)'"
        + (near.map { ", did you mean '\($0)'?" } ?? ": look at 'baton hosts'"))
  }

  /// Revokes the certificates of a host.
  /// - Throws: `OperatorError.notFound` if no host was ever invited or has joined under this name.
  /// - Returns: how many of them had not ended.
  package func revoke(_ host: HostName) async throws -> Int {
    let identities = try identities()
    let now = self.now().moment
    let invitations = try await translating { try await self.store.invitations(of: host) }
    if invitations.isEmpty, !identities.knows(host) { throw unknown(host, identities) }
    // From here on no message of the host is taken any more. What it has sent before may still be stored.
    let certificates: Int
    do {
      try identities.spend(invitations.map(\.id), of: host)
      certificates = try identities.revoke(host, at: now.date)
    } catch {
      throw OperatorError.unknown("the revocation cannot be made durable, so nothing was changed: \(error)")
    }
    try await translating { try await self.store.revoke(host) }
    decide { state in state.core.decide { $0.revoked(host) } }
    logger.notice("a host was revoked", metadata: [Names.LogKey.host: "\(host)", "certificates": "\(certificates)"])
    return certificates
  }
}
