import BatonBase
package import BatonIdentity
package import BatonModel
import Synchronization

/// The credentials of operators. They are kept in memory, so that a call is decided without the store.
package final class OperatorCredentials: Sendable {
  private struct State {
    var credentials: [[UInt8]: Credential] = [:]
    /// The ids in the file of revocations.
    var revoked: Set<[UInt8]> = []
    /// What ends the calls of a credential, by a number of the call.
    var calls: [UInt64: (credential: [UInt8], end: Signal)] = [:]
    var lastCall: UInt64 = 0

    func valid(_ id: [UInt8], at now: Timestamp) -> Credential? {
      guard let known = credentials[id], !known.isRevoked, !revoked.contains(id), now <= known.end else { return nil }
      return known
    }
  }

  private let revocations: RevocationFile
  private let state = Mutex(State())

  /// - Parameter dataFolder: the coordinator's data folder, which has the file of revocations.
  package init(dataFolder: String) throws(IdentityError) {
    revocations = RevocationFile(path: dataFolder + "/revoked-credentials", what: "the id and the name of a credential")
    let revoked = try revocations.serials()
    state.withLock { $0.revoked = revoked }
  }

  /// Takes over the credentials of the store. One that the file of revocations names stays revoked, even if an older
  /// copy of the store has been put back.
  package func load(_ credentials: [Credential]) {
    state.withLock { state in
      for credential in credentials { state.credentials[credential.id] = credential }
    }
  }

  /// Takes over what other coordinators have done: credentials that they issued, and revocations, which are kept in the
  /// file of this coordinator too and end calls here.
  func hear(_ credentials: [Credential]) throws(IdentityError) {
    let news = state.withLock { state in credentials.filter { $0.isRevoked && !state.revoked.contains($0.id) } }
    load(credentials)
    try revoke(news)
  }

  /// The credential that the token belongs to; `nil` if it permits nothing.
  package func credential(_ token: CredentialToken, at now: Timestamp) -> Credential? {
    guard let known = state.withLock({ $0.valid(token.id, at: now) }), token.has(digest: known.digest) else {
      return nil
    }
    return known
  }

  /// How precisely the last use of a credential is stored.
  static let useInterval = Duration.seconds(60)

  /// Notes a use.
  /// - Returns: true if the use has to be stored, because the last one that was is older than `useInterval`.
  func noteUse(of id: [UInt8], at now: Timestamp) -> Bool {
    state.withLock { state in
      guard let known = state.credentials[id] else { return false }
      if let last = known.lastUsedAt, last <= now, now - last < Self.useInterval { return false }
      state.credentials[id]?.lastUsedAt = now
      return true
    }
  }

  /// Returns when the credential has ended or was revoked, or the task is cancelled.
  /// - Parameter clocks: the wall clock is read again each half minute, because it may have been set meanwhile.
  func untilEnd(of id: [UInt8], _ clocks: Clocks) async {
    let signal = Signal()
    let call = state.withLock { state -> UInt64? in
      guard state.valid(id, at: clocks.now().date) != nil else { return nil }
      state.lastCall += 1
      state.calls[state.lastCall] = (id, signal)
      return state.lastCall
    }
    guard let call else { return }
    defer { state.withLock { $0.calls[call] = nil } }
    while !Task.isCancelled, let known = state.withLock({ $0.valid(id, at: clocks.now().date) }) {
      let left = known.end - clocks.now().date
      try? await signal.wait(atMost: { try await clocks.sleep(min(max(left, .milliseconds(1)), .seconds(30))) })
    }
  }

  // MARK: Changes

  /// From now on the credential permits what it says.
  func note(_ credential: Credential) { state.withLock { $0.credentials[credential.id] = credential } }

  /// The credentials that have this name, or this id in hexadecimal digits.
  func named(_ text: String) -> [Credential] {
    state.withLock { state in
      state.credentials.values.filter { $0.name == text || Hexadecimal.text($0.id) == text }
        .map { credential in
          var credential = credential
          credential.isRevoked = credential.isRevoked || state.revoked.contains(credential.id)
          return credential
        }
        .sorted { $0.id.lexicographicallyPrecedes($1.id) }
    }
  }

  /// Revokes credentials: durably in the file of revocations, and here. Their calls end.
  func revoke(_ credentials: [Credential]) throws(IdentityError) {
    for credential in credentials { try revocations.add([credential.id], of: credential.name) }
    let ids = Set(credentials.map(\.id))
    state.withLock { state in
      state.revoked.formUnion(ids)
      for call in state.calls.values where ids.contains(call.credential) { call.end.raise() }
    }
  }
}
