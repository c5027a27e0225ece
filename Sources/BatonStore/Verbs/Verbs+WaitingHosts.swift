package import BatonModel

/// A host that has shown the secret of an invitation that needs approval.
package struct WaitingHost: Hashable, Sendable {
  package var host: HostName
  /// Six digits of the host's key and the fleet's pin, which the host shows too.
  package var number: String
  /// Where the host asks from, as gRPC writes it.
  package var peer: String
  /// When it asked last.
  package var at: Timestamp
  /// How many hosts ask with the same invitation, this one included. More than one means that the token was copied.
  package var asking: Int

  package init(host: HostName, number: String, peer: String, at: Timestamp, asking: Int = 1) {
    (self.host, self.number, self.peer, self.at, self.asking) = (host, number, peer, at, asking)
  }

  /// How long after it has asked last a host counts as waiting. A host asks again every few seconds.
  package static let patience = Duration.seconds(60)
  /// The most keys that wait with one invitation. Two are a sign that the token was copied.
  package static let mostKeys = 8
}

/// The hosts that wait are in the store, because the operator who approves one may ask another coordinator than the
/// host does. Their times are on the steady clock.
extension Verbs {
  /// Notes that a host asks with this invitation.
  /// - Throws: `.refused` if there is no such invitation; `.overloaded` if too many other keys wait with it.
  package func noteWaiting(_ host: WaitingHost, invitation: [UInt8], key: [UInt8]) throws {
    try need(.identities)
    guard try self.invitation(invitation) != nil else { throw StoreError(.refused, Invitation.unknown) }
    try prepare(.dropWaiting).run(host.at + (.zero - WaitingHost.patience))
    let others = try prepare(.othersWaiting).first(invitation, key) { $0.int(0) } ?? 0
    guard others < WaitingHost.mostKeys else {
      throw StoreError(.overloaded, "too many hosts wait with this invitation")
    }
    try prepare(.noteWaiting).run(invitation, key, host.number, host.peer, host.at)
  }

  /// Those that wait, by name and number.
  package func waitingHosts(at steady: Timestamp) throws -> [WaitingHost] {
    let waiting = try asking(at: steady)
    let counts = Dictionary(waiting.map { ($0.invitation, 1) }, uniquingKeysWith: +)
    return waiting.map { asking in
      var host = asking.host
      host.asking = counts[asking.invitation] ?? 1
      return host
    }
  }

  /// Lets the host join that waits under this name and shows this number.
  /// - Throws: `.notFound` if none does, or if two keys have the number, which then cannot be told apart; `.refused` if
  ///   another host asks with the same invitation, because its token was copied then.
  package func approve(_ host: HostName, number: String, at steady: Timestamp) throws {
    try need(.identities)
    let waiting = try asking(at: steady)
    let found = waiting.filter { $0.host.host == host && $0.host.number == number }
    guard found.count == 1, let only = found.first else {
      throw StoreError(.notFound, "no host waits as \(host) with this number")
    }
    let same = waiting.filter { $0.invitation == only.invitation }
    guard same.count == 1 else {
      throw StoreError(
        .refused,
        "\(same.count) hosts ask with this invitation of \(host), from \(same.map(\.host.peer).joined(separator: ", ")), so "
          + "its token may have been copied, and no host was approved. `baton host revoke \(host)` takes the invitation "
          + "back; then invite the host again. If the host itself was started twice, wait a minute: a host that asks no "
          + "more is forgotten")
    }
    try approve(only.invitation, key: only.key)
  }

  private func asking(at steady: Timestamp) throws -> [(invitation: [UInt8], key: [UInt8], host: WaitingHost)] {
    try prepare(.waiting).all(steady + (.zero - WaitingHost.patience)) { row in
      (
        row.blob(0), row.blob(1),
        WaitingHost(host: HostName(row.text(2)), number: row.text(3), peer: row.text(4), at: row.time(5))
      )
    }
  }
}

extension Query {
  static let dropWaiting = Query("DELETE FROM waiting_host WHERE asked_at < ?")
  static let othersWaiting = Query("SELECT count(*) FROM waiting_host WHERE invitation = ? AND key <> ?")
  static let noteWaiting = Query(
    """
    INSERT INTO waiting_host (invitation, key, number, peer, asked_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (invitation, key) DO UPDATE SET number = excluded.number, peer = excluded.peer,
      asked_at = excluded.asked_at
    """)
  static let waiting = Query(
    """
    SELECT w.invitation, w.key, i.host, w.number, w.peer, w.asked_at
    FROM waiting_host w JOIN invitation i ON i.id = w.invitation
    WHERE w.asked_at >= ? AND i.serial IS NULL ORDER BY i.host, w.number, w.key
    """)
}
