import BatonBase
import BatonIdentity
package import BatonModel
import Synchronization

/// A host that has shown the secret of an invitation that needs approval.
package struct WaitingHost: Hashable, Sendable {
  package var host: HostName
  /// Six digits of the host's key and the fleet's pin, which the host shows too.
  package var number: String
  /// Where the host asks from, as gRPC writes it.
  package var peer: String
  /// When it asked last.
  package var at: Timestamp

  package init(host: HostName, number: String, peer: String, at: Timestamp) {
    (self.host, self.number, self.peer, self.at) = (host, number, peer, at)
  }
}

/// The hosts that wait for an operator's approval. A host asks again every few seconds, so they are only in memory.
final class WaitingHosts: Sendable {
  private struct Key: Hashable {
    var invitation: [UInt8]
    /// The SHA-256 of the host's public key.
    var key: [UInt8]
  }

  /// How long after it has asked last a host counts as waiting.
  static let patience = Duration.seconds(60)
  /// The most keys that wait with one invitation. Two are a sign that the token was copied.
  static let mostKeys = 8

  private let state = Mutex<[Key: WaitingHost]>([:])

  /// Notes that a host asks.
  /// - Throws: `OperatorError` if too many other keys wait with the same invitation.
  func note(_ host: WaitingHost, invitation: [UInt8], key: [UInt8]) throws(OperatorError) {
    let isNoted = state.withLock { state in
      state = state.filter { host.at - $0.value.at <= Self.patience }
      let key = Key(invitation: invitation, key: key)
      guard state[key] != nil || state.count(where: { $0.key.invitation == invitation }) < Self.mostKeys else {
        return false
      }
      state[key] = host
      return true
    }
    guard isNoted else { throw .overloaded("too many hosts wait with this invitation") }
  }

  /// Those that wait now, by name and number.
  func all(at now: Timestamp) -> [WaitingHost] {
    state.withLock { state in
      state.values.filter { now - $0.at <= Self.patience }.sorted {
        ($0.host.rawValue, $0.number) < ($1.host.rawValue, $1.number)
      }
    }
  }

  /// The invitation and the key of the host that shows this number; `nil` if none waits.
  func find(_ host: HostName, number: String, at now: Timestamp) -> (invitation: [UInt8], key: [UInt8])? {
    state.withLock { state in
      let found = state.filter {
        $0.value.host == host && $0.value.number == number && now - $0.value.at <= Self.patience
      }
      // Two keys with one number cannot be told apart.
      guard found.count == 1, let key = found.keys.first else { return nil }
      return (key.invitation, key.key)
    }
  }
}
