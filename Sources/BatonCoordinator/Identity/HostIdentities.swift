import BatonBase
package import BatonIdentity
package import BatonModel
package import BatonWire
import Synchronization
package import X509

/// A host that has proven its name with a certificate of the fleet.
package struct HostCaller: Hashable, Sendable {
  package var host: HostName
  /// The serial number of the certificate.
  package var serial: [UInt8]
  /// The last moment at which the certificate is valid.
  package var end: Timestamp
}

/// The fleet's authority, and the certificates that hosts have from it. Every call of a host is checked against them:
/// a certificate counts only if it is one that was given out, byte by byte, has not ended and was not revoked. So a
/// resumed TLS session proves no more than a new one.
package final class HostIdentities: Sendable {
  fileprivate struct State {
    var authorities: FleetAuthorities
    var certificates: [[UInt8]: HostCertificate] = [:]
    /// The serial numbers in the file of revocations.
    var revoked: Set<[UInt8]> = []
    /// The ids in the file of spent invitations.
    var spent: Set<[UInt8]> = []
    /// What ends the calls of a host, by a number of the call.
    var calls: [UInt64: (serial: [UInt8], end: Signal)] = [:]
    var lastCall: UInt64 = 0
    var workers: HostPort?
    var operators: HostPort?
    var https: HostPort?
  }

  /// The credentials of operators.
  package let credentials: OperatorCredentials
  /// How long the certificates of hosts are valid.
  package let lifetime: Duration
  /// The coordinator's data folder, which has the authorities and the file of revocations.
  let dataFolder: String
  private let revocations: RevocationFile
  /// The invitations with which a host has joined, or that were taken back.
  private let spentInvitations: RevocationFile
  private let state: Mutex<State>

  package init(
    authorities: FleetAuthorities, dataFolder: String, lifetime: Duration = FleetAuthority.hostLifetime
  ) throws(IdentityError) {
    (self.lifetime, self.dataFolder) = (lifetime, dataFolder)
    revocations = RevocationFile(
      path: dataFolder + "/revoked", what: "a serial number and the name of a host")
    spentInvitations = RevocationFile(
      path: dataFolder + "/spent-invitations", what: "the id of an invitation and the name of a host")
    credentials = try OperatorCredentials(dataFolder: dataFolder)
    let (revoked, spent) = (try revocations.serials(), try spentInvitations.serials())
    state = Mutex(State(authorities: authorities, revoked: revoked, spent: spent))
  }

  package var authorities: FleetAuthorities { state.withLock { $0.authorities } }

  /// Takes over the certificates of the store. One that the file of revocations names stays revoked, even if an older
  /// copy of the store has been put back. If the root is being replaced, this coordinator has listened with both roots,
  /// and every host has a certificate of the next one, the next one takes the present one's place. Call it before the
  /// coordinator listens.
  /// - Returns: whether the root was replaced.
  @discardableResult
  package func load(_ certificates: [HostCertificate], at now: Timestamp) throws(IdentityError) -> Bool {
    state.withLock { state in
      for certificate in certificates { state.certificates[certificate.serial] = certificate }
    }
    let known = authorities
    guard known.next != nil, try known.haveServed(dataFolder: dataFolder), hostsWithoutNextRoot(at: now).isEmpty else {
      return false
    }
    let completed = try known.completed(dataFolder: dataFolder)
    state.withLock { $0.authorities = completed }
    return true
  }

  /// Takes over what other coordinators have done: certificates that they gave out, and revocations. A revocation is
  /// kept in the file of this coordinator too, and ends the host's calls here.
  func hear(_ certificates: [HostCertificate]) throws(IdentityError) {
    let news = state.withLock { state in
      certificates.filter { $0.isRevoked && !state.revoked.contains($0.serial) }
    }
    for certificate in news { try revocations.add([certificate.serial], of: certificate.host.rawValue) }
    state.withLock { state in
      for certificate in certificates { state.certificates[certificate.serial] = certificate }
      let serials = Set(news.map(\.serial))
      state.revoked.formUnion(serials)
      for call in state.calls.values where serials.contains(call.serial) { call.end.raise() }
    }
  }

  // MARK: Where the coordinator listens

  package func listens(workers: HostPort) { state.withLock { $0.workers = workers } }
  package func listens(operators: HostPort) { state.withLock { $0.operators = operators } }
  package func listens(https: HostPort) { state.withLock { $0.https = https } }

  /// What a client needs to know about the fleet.
  package func description(at now: Timestamp) -> FleetDescription {
    let authorities = authorities
    let old = hostsWithoutNextRoot(at: now)
    // A rotation writes the next root beside the present one, and the next start reads it.
    let written = (try? FleetAuthorities.read(dataFolder: dataFolder))?.next
    let awaitsRestart = authorities.next == nil ? written != nil : old.isEmpty
    let roots = authorities.roots.compactMap { try? $0.der }
    return state.withLock { state in
      FleetDescription(
        fleet: authorities.present.fleet, pin: authorities.present.pin, workers: state.workers,
        operators: state.operators, https: state.https, roots: roots, hostsOfOldRoot: old.count,
        awaitsRestart: awaitsRestart, awaitedHosts: Array(old.prefix(FleetDescription.mostAwaitedHosts)))
    }
  }

  // MARK: Callers

  /// The host that the certificate names; `nil` if the certificate proves nothing.
  package func caller(_ certificate: Certificate, at now: Timestamp) -> HostCaller? {
    let serial = Array(certificate.serialNumber.bytes)
    guard let known = state.withLock({ $0.valid(serial, at: now) }), let der = try? certificate.der, der == known.der
    else { return nil }
    return HostCaller(host: known.host, serial: serial, end: known.end)
  }

  /// Why a certificate proves nothing. Ask only about one that proves nothing, and tell only the owner of its key.
  func doubt(about certificate: Certificate, at now: Timestamp) -> CertificateDoubt {
    let serial = Array(certificate.serialNumber.bytes)
    let authorities = authorities
    let isOurs = authorities.present.hasSigned(certificate) || authorities.next?.hasSigned(certificate) == true
    return state.withLock { state in
      let known = state.certificates[serial]
      if state.revoked.contains(serial) || known?.isRevoked == true { return .revoked }
      if !isOurs { return .foreign }
      if now - certificate.end > HostCertificate.rejoinTime { return .endedLongAgo }
      return known == nil ? .unknown : .ended
    }
  }

  /// Returns when the caller's certificate has ended or was revoked, or the task is cancelled.
  /// - Parameter clocks: the wall clock is read again each minute, because it may have been set meanwhile.
  func untilEnd(of caller: HostCaller, _ clocks: Clocks) async {
    let signal = Signal()
    let call = state.withLock { state -> UInt64? in
      guard state.valid(caller.serial, at: clocks.now().date) != nil else { return nil }
      state.lastCall += 1
      state.calls[state.lastCall] = (caller.serial, signal)
      return state.lastCall
    }
    guard let call else { return }
    defer { state.withLock { $0.calls[call] = nil } }
    while !Task.isCancelled, state.withLock({ $0.valid(caller.serial, at: clocks.now().date) }) != nil {
      let left = caller.end - clocks.now().date
      try? await signal.wait(atMost: { try await clocks.sleep(min(max(left, .milliseconds(1)), .seconds(60))) })
    }
  }

  /// How many calls of hosts go on.
  var calls: Int { state.withLock { $0.calls.count } }

  // MARK: Changes

  /// Signs a certificate for a public key. It proves nothing until it was stored and noted.
  func certificate(
    for host: HostName, key: Certificate.PublicKey, at now: Timestamp
  ) throws(IdentityError) -> HostCertificate {
    do {
      let certificate = try authorities.ofHosts.hostCertificate(for: key, host: host, lasting: lifetime, at: now)
      return HostCertificate(
        serial: Array(certificate.serialNumber.bytes), host: host, key: key.digest, der: try certificate.der,
        end: certificate.end)
    } catch {
      throw IdentityError("the certificate cannot be signed: \(error)")
    }
  }

  /// From now on the certificate proves its host's name.
  func note(_ certificate: HostCertificate) {
    state.withLock { $0.certificates[certificate.serial] = certificate }
  }

  /// Notes durably that nothing more joins with these invitations, whatever an older copy of the store says of them.
  func spend(_ invitations: [[UInt8]], of host: HostName) throws(IdentityError) {
    try spentInvitations.add(invitations, of: host.rawValue)
    state.withLock { $0.spent.formUnion(invitations) }
  }

  /// Whether the invitation was used or taken back, although the store does not say so, because it is an older copy.
  func isSpent(_ invitation: Invitation) -> Bool {
    !invitation.isUsed && state.withLock { $0.spent.contains(invitation.id) }
  }

  /// The hosts that have joined, also those whose certificates have ended or were revoked.
  var hosts: Set<HostName> { state.withLock { Set($0.certificates.values.map(\.host)) } }

  /// The hosts that have joined and whose certificates were all revoked.
  var revokedHosts: Set<HostName> {
    state.withLock { state in
      let valid = state.certificates.values.filter { !$0.isRevoked && !state.revoked.contains($0.serial) }
      return Set(state.certificates.values.map(\.host)).subtracting(valid.map(\.host))
    }
  }

  func knows(_ host: HostName) -> Bool { hosts.contains(host) }

  /// Revokes the certificates of a host: durably in the file of revocations, and here. The host's calls end.
  /// - Returns: how many of them had not ended.
  func revoke(_ host: HostName, at now: Timestamp) throws(IdentityError) -> Int {
    let serials = state.withLock { state in
      state.certificates.values.filter { $0.host == host }.map(\.serial).sorted { $0.lexicographicallyPrecedes($1) }
    }
    try revocations.add(serials, of: host.rawValue)
    return state.withLock { state in
      let valid = serials.filter { state.valid($0, at: now) != nil }
      state.revoked.formUnion(serials)
      for call in state.calls.values where serials.contains(call.serial) { call.end.raise() }
      return valid.count
    }
  }

  /// The roots that clients are to trust (DER).
  var roots: [[UInt8]] { get throws { try authorities.roots.map { try $0.der } } }

  /// What a host is answered that gets this certificate.
  func answer(_ certificate: HostCertificate, at now: Timestamp) throws -> HostIdentity.Answer {
    let server = try authorities.ofHosts.serverCertificate(
      for: try Certificate(der: certificate.der).publicKey, host: certificate.host,
      lasting: max(certificate.end - now, .zero), at: now)
    return HostIdentity.Answer(
      certificate: certificate.der, serverCertificate: try server.der, roots: try roots)
  }

  // MARK: Replacing the root

  /// The hosts whose newest valid certificate is not of the next root: they may know only the root that is being
  /// replaced, or even one before it. Empty if the root is not being replaced.
  func hostsWithoutNextRoot(at now: Timestamp) -> [HostName] {
    guard let next = authorities.next else { return [] }
    return hosts(at: now) { !next.hasSigned($0) }
  }

  /// The hosts whose newest valid certificate was signed by no authority that this coordinator has. They cannot come
  /// back, because TLS refuses them: the file with the authority was lost or is another fleet's.
  func hostsOfLostRoots(at now: Timestamp) -> [HostName] {
    let authorities = authorities
    return hosts(at: now) { certificate in
      !authorities.present.hasSigned(certificate) && authorities.next?.hasSigned(certificate) != true
    }
  }

  /// The hosts whose newest valid certificate is `old`, by name.
  private func hosts(at now: Timestamp, whoseNewestIs old: (Certificate) -> Bool) -> [HostName] {
    let valid = state.withLock { state in state.certificates.values.filter { state.valid($0.serial, at: now) != nil } }
    var newest: [HostName: (beginning: Timestamp, isOld: Bool)] = [:]
    for certificate in valid {
      guard let parsed = try? Certificate(der: certificate.der) else { continue }
      let (beginning, isOld) = (parsed.beginning, old(parsed))
      // Certificates count whole seconds. Of two that begin in the same second, the one that is not old is newer.
      if let known = newest[certificate.host], (known.beginning, known.isOld ? 0 : 1) >= (beginning, isOld ? 0 : 1) {
        continue
      }
      newest[certificate.host] = (beginning, isOld)
    }
    return newest.filter(\.value.isOld).keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// Notes durably that this coordinator has listened with both roots known, so that a later start may drop the old
  /// one. Call it when the coordinator listens; it does nothing if the root is not being replaced.
  func noteServing() throws(IdentityError) { try authorities.noteServing(dataFolder: dataFolder) }

  /// A host whose certificate has ended at most `HostCertificate.rejoinTime` ago, and was not revoked.
  func rejoining(_ der: [UInt8], at now: Timestamp) -> HostCertificate? {
    guard let parsed = try? Certificate(der: der) else { return nil }
    return state.withLock { state in
      guard let known = state.certificates[Array(parsed.serialNumber.bytes)], known.der == der, !known.isRevoked,
        !state.revoked.contains(known.serial), now - known.end <= HostCertificate.rejoinTime
      else { return nil }
      return known
    }
  }
}

extension HostIdentities.State {
  fileprivate func valid(_ serial: [UInt8], at now: Timestamp) -> HostCertificate? {
    guard let known = certificates[serial], !known.isRevoked, !revoked.contains(serial), now <= known.end else {
      return nil
    }
    return known
  }
}

/// What a client needs to know in order to recognise a fleet, and where its coordinator listens.
package struct FleetDescription: Hashable, Sendable {
  package var fleet: String
  package var pin: Pin
  /// Where the coordinator listens for workers of other machines; `nil` if it does not.
  package var workers: HostPort?
  /// Where the coordinator listens for operators of other machines, and for hosts that join.
  package var operators: HostPort?
  /// Where the coordinator serves HTTPS; `nil` if it does not.
  package var https: HostPort?
  /// The roots (DER), the present one first: two while a root is being replaced.
  package var roots: [[UInt8]]
  /// How many hosts know only the root that is being replaced.
  package var hostsOfOldRoot: Int
  /// Whether the replacement of the root goes on only after a restart of the coordinator: `rotate` was called, or every
  /// host knows the next root.
  package var awaitsRestart: Bool
  /// The first of the hosts that know only the root that is being replaced, by name: at most `mostAwaitedHosts`.
  package var awaitedHosts: [HostName]

  /// The most hosts of `awaitedHosts`.
  package static let mostAwaitedHosts = 100

  package init(
    fleet: String, pin: Pin, workers: HostPort?, operators: HostPort?, https: HostPort? = nil, roots: [[UInt8]] = [],
    hostsOfOldRoot: Int = 0, awaitsRestart: Bool = false, awaitedHosts: [HostName] = []
  ) {
    (self.fleet, self.pin, self.workers, self.operators, self.https) = (fleet, pin, workers, operators, https)
    (self.roots, self.hostsOfOldRoot) = (roots, hostsOfOldRoot)
    (self.awaitsRestart, self.awaitedHosts) = (awaitsRestart, awaitedHosts)
  }
}

/// A new invitation, with the token that is shown once.
package struct InvitedHost: Hashable, Sendable {
  package var host: HostName
  package var token: JoinToken
  package var fleet: FleetDescription
  package var end: Timestamp

  package init(host: HostName, token: JoinToken, fleet: FleetDescription, end: Timestamp) {
    (self.host, self.token, self.fleet, self.end) = (host, token, fleet, end)
  }
}
