import BatonBase
package import BatonIdentity
package import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

/// The calls about the identities of hosts: invitations, joins, renewals and revocations.
extension Coordinator {
  /// - Throws: `OperatorError.invalid` if this coordinator does not listen (`baton run`).
  func identities() throws -> HostIdentities {
    guard let identities = settings.identities else {
      throw OperatorError.invalid("this coordinator serves only its own process")
    }
    return identities
  }

  package func fleet() async throws -> FleetDescription { try identities().description }

  package func invite(_ host: HostName, for lifetime: Duration, by principal: String) async throws -> InvitedHost {
    let identities = try identities()
    guard host.isWellFormed else {
      throw OperatorError.invalid(
        "'\(host.rawValue.escapedOnOneLine)' cannot be a host's name: it has \(HostName.rule)")
    }
    guard (Duration.seconds(1)...Invitation.longestLifetime).contains(lifetime) else {
      throw OperatorError.invalid("an invitation is valid for 1 second to 7 days")
    }
    let (token, now) = (JoinToken(), self.now().moment)
    let invitation = Invitation(
      id: token.id, host: host, digest: token.digest, end: now.date + lifetime, principal: principal)
    try await translating { try await self.store.invite(invitation, at: now) }
    logger.notice("a host was invited", metadata: [Names.LogKey.host: "\(host)", "by": "\(principal)"])
    return InvitedHost(host: host, token: token, fleet: identities.description, end: invitation.end)
  }

  /// Uses an invitation up.
  /// - Parameter request: a request for a certificate, of which only the public key is read.
  /// - Throws: `OperatorError` if the invitation does not permit it, or the request is none.
  package func join(
    _ token: JoinToken, request: [UInt8], from address: String
  ) async throws -> (certificate: HostCertificate, fleet: FleetDescription, roots: [[UInt8]]) {
    let identities = try identities()
    let now = self.now().moment
    let certificate: HostCertificate
    do {
      certificate = try await translating {
        // The secret is compared before anything is signed: a guess must cost less to refuse than to make.
        guard let invitation = try await self.store.invitation(token.id), invitation.digest == token.digest else {
          throw StoreError(.refused, Invitation.unknown)
        }
        let drawn = try identities.certificate(for: invitation.host, request: request, at: now.date)
        return try await self.store.admit(drawn, by: token.id, digest: token.digest, at: now)
      }
    } catch let error as IdentityError {
      throw OperatorError.invalid("\(error)")
    } catch {
      logger.warning("a host was not admitted", metadata: ["address": "\(address)", "why": "\(error)"])
      throw error
    }
    identities.note(certificate)
    logger.notice(
      "a host has joined", metadata: [Names.LogKey.host: "\(certificate.host)", "address": "\(address)"])
    return (certificate, identities.description, try identities.roots)
  }

  /// Gives a host another certificate.
  func renew(
    _ caller: HostCaller, request: [UInt8]
  ) async throws -> (certificate: HostCertificate, roots: [[UInt8]]) {
    let identities = try identities()
    let now = self.now().moment
    let certificate: HostCertificate
    do { certificate = try identities.certificate(for: caller.host, request: request, at: now.date) } catch {
      throw OperatorError.invalid("\(error)")
    }
    try await translating { try await self.store.renew(certificate, after: caller.serial, at: now) }
    identities.note(certificate)
    logger.info("a host renewed its certificate", metadata: [Names.LogKey.host: "\(caller.host)"])
    return (certificate, try identities.roots)
  }

  /// Revokes the certificates of a host.
  /// - Returns: how many of them had not ended.
  package func revoke(_ host: HostName) async throws -> Int {
    let identities = try identities()
    let now = self.now().moment
    // From here on no message of the host is taken any more. What it has sent before may still be stored.
    let certificates: Int
    do { certificates = try identities.revoke(host, at: now.date) } catch {
      throw OperatorError.unknown("the revocation cannot be made durable, so nothing was changed: \(error)")
    }
    try await translating { try await self.store.revoke(host) }
    decide { state in state.core.decide { $0.revoked(host) } }
    logger.notice("a host was revoked", metadata: [Names.LogKey.host: "\(host)", "certificates": "\(certificates)"])
    return certificates
  }
}
