import BatonBase
package import BatonIdentity
package import BatonModel
import BatonStore
import BatonTelemetry
import Logging

/// What a new credential shall permit.
package struct CredentialOrder: Hashable, Sendable {
  /// The principal.
  package var name: String
  package var scopes: Set<Scope>
  /// The identifiers that it concerns; empty means all of them.
  package var patterns: [IdentifierPattern]
  package var lifetime: Duration

  package init(
    name: String, scopes: Set<Scope>, patterns: [IdentifierPattern] = [], lifetime: Duration = Credential.lifetime
  ) {
    (self.name, self.scopes, self.patterns, self.lifetime) = (name, scopes, patterns, lifetime)
  }

  /// What the audit log says of the order.
  var words: String {
    let jobs = patterns.isEmpty ? "*" : Set(patterns.map(\.rawValue)).sorted().joined(separator: ",")
    return "scopes=\(scopes.text) patterns=\(jobs) for=\(lifetime.inWords)"
  }

  /// - Throws: `OperatorError.invalid` if there is no such credential.
  func validate() throws(OperatorError) {
    guard Credential.isWellFormed(name: name) else {
      throw .invalid(
        "'\(name.escapedOnOneLine)' cannot be a credential's name: it has 1 to 64 letters, digits and . _ - @, and "
          + "begins with a letter or a digit")
    }
    guard !scopes.isEmpty else { throw .invalid("a credential needs at least one scope") }
    guard patterns.count <= Credential.largestPatternCount else {
      throw .invalid("a credential has at most \(Credential.largestPatternCount) patterns")
    }
    guard patterns.isEmpty || !scopes.contains(.admin) else {
      throw .invalid("the scope 'admin' concerns the whole fleet and cannot be limited to patterns")
    }
    guard patterns.isEmpty || !scopes.contains(.metrics) else {
      throw .invalid("the scope 'metrics' concerns the whole fleet and cannot be limited to patterns")
    }
    guard (Duration.seconds(60)...Credential.longestLifetime).contains(lifetime) else {
      throw .invalid("a credential is valid for 1 minute to 366 days")
    }
  }
}

/// A new credential, with the token that is shown once.
package struct CreatedCredential: Hashable, Sendable {
  package var credential: Credential
  package var token: CredentialToken
  package var fleet: FleetDescription

  package init(credential: Credential, token: CredentialToken, fleet: FleetDescription) {
    (self.credential, self.token, self.fleet) = (credential, token, fleet)
  }
}

/// What a call to revoke credentials has done.
package struct RevokedCredentials: Hashable, Sendable {
  /// How many were revoked now that had not ended.
  package var count: Int
  /// How many others had been revoked before.
  package var before: Int

  package init(count: Int, before: Int = 0) { (self.count, self.before) = (count, before) }
}

/// The calls about operators: their credentials, and the audit log of what they did.
extension Coordinator {
  package func whoAmI() async throws -> Caller { Caller.current ?? Caller(name: "this process") }

  package func createCredential(_ order: CredentialOrder) async throws -> CreatedCredential {
    let identities = try identities()
    try order.validate()
    let (token, now) = (CredentialToken(), self.now().date)
    let credential = Credential(
      id: token.id, name: order.name, digest: token.digest, scopes: order.scopes,
      patterns: Array(Set(order.patterns)), end: now + order.lifetime, createdAt: now,
      createdBy: Caller.current?.name ?? "")
    try await translating { try await self.store.issue(credential) }
    identities.credentials.note(credential)
    logger.notice(
      "a credential was created",
      metadata: [
        "credential": "\(credential.name)", "scopes": "\(credential.scopes.text)", "by": "\(credential.createdBy)",
      ])
    return CreatedCredential(credential: credential, token: token, fleet: identities.description(at: now))
  }

  package func credentials() async throws -> [Credential] { try await store.credentials() }

  package func revokeCredential(_ name: String) async throws -> RevokedCredentials {
    let identities = try identities()
    let found = identities.credentials.named(name)
    guard !found.isEmpty else {
      throw OperatorError.notFound("there is no credential '\(name.escapedOnOneLine)': look at 'baton credential list'")
    }
    let now = self.now().date
    // From here on none of them permits anything, also if the store does not answer.
    do { try identities.credentials.revoke(found) } catch {
      throw OperatorError.unknown("the revocation cannot be made durable, so nothing was changed: \(error)")
    }
    try await translating { try await self.store.revoke(credentials: found.map(\.id)) }
    let revoked = RevokedCredentials(
      count: found.count { !$0.isRevoked && now <= $0.end }, before: found.count(where: \.isRevoked))
    if revoked.before < found.count {
      logger.notice("a credential was revoked", metadata: ["credential": "\(name.escapedOnOneLine)"])
    }
    return revoked
  }

  package func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow] {
    try await store.audit(filter, after: sequence, limit: limit)
  }

  package func verifyAudit() async throws -> AuditVerdict { try await store.verifyAudit() }

  /// Stores that a credential was used, if the last use that was stored is older than a minute.
  func noteUse(of credential: Credential) {
    let now = now().date
    guard let credentials = settings.identities?.credentials, credentials.noteUse(of: credential.id, at: now) else {
      return
    }
    Task { [store] in try? await store.noteUse(ofCredential: credential.id, at: now) }
  }
}
