import BatonBase
import BatonModel
import BatonStore
import Synchronization

/// Writes the audit log of operators' calls: one row for each call that changes something, and one for refused calls of
/// one caller and method in ten seconds.
package final class CallAudit: Sendable {
  private let store: any Store
  private let clocks: Clocks
  private let denied = Mutex(DeniedCalls())
  /// Rows that were noted where nothing may wait for the store.
  private let waiting = Mailbox<AuditEntry>(capacity: 65_536)

  init(store: any Store, clocks: Clocks) { (self.store, self.clocks) = (store, clocks) }

  /// The wall clock's time.
  var now: Timestamp { clocks.now().date }

  /// Carries out a call that changes something. Its row is stored in the transaction of the change; a call that ends
  /// without one gets a row of its own, which says how it ended.
  /// - Parameter nothing: why a result means that nothing was changed; `nil` if it was.
  func changing<Result: Sendable>(
    _ entry: AuditEntry, _ body: @Sendable () async throws -> Result,
    nothing: @Sendable (Result) -> String? = { _ in nil }
  ) async throws -> Result {
    let call = AuditedCall(entry)
    let result: Result
    do {
      result = try await AuditedCall.$current.withValue(call) { try await body() }
    } catch {
      _ = call.end()
      // The caller has to learn why the call failed, also if the row cannot be stored.
      try? await store.append(entry.with(.failed, "\(error)"))
      throw error
    }
    if let entry = call.end() {
      try await store.append(nothing(result).map { entry.with(.failed, $0) } ?? entry)
    }
    return result
  }

  /// Notes a call that was refused because of who made it.
  func noteDenied(_ entry: AuditEntry, _ why: String) async {
    let entry = entry.with(.denied, why)
    guard let news = denied.withLock({ $0.note(entry, at: clocks.now().instant) }) else { return }
    try? await store.append(news)
  }

  /// Notes a call that was refused without a look at what it asks for. One row in a minute is written for each kind and
  /// address.
  /// - Parameters:
  ///   - actor: the name of the credential; empty if nothing was proven.
  ///   - method: what was called first in this minute.
  func noteDenied(_ kind: DeniedCalls.Kind, _ actor: String = "", from peer: String, calling method: String) async {
    guard let news = news(kind, actor, from: peer, calling: method) else { return }
    try? await store.append(news)
  }

  /// Notes a connection that TLS has refused because of the client's certificate. It has come to no call, so that its
  /// row names none. `writeWaiting` writes the row.
  func noteRefusedCertificate(from peer: String) {
    if let news = news(.handshake, "", from: peer, calling: Self.handshake) { waiting.send(news) }
  }

  /// What stands in a row in the place of the method, if TLS has refused a connection.
  static let handshake = "handshake"

  /// The row to write about a refusal of this kind; `nil` if it was only counted.
  private func news(
    _ kind: DeniedCalls.Kind, _ actor: String, from peer: String, calling method: String
  ) -> AuditEntry? {
    let entry = AuditEntry(
      at: now, actor: actor, credential: nil, peer: peer, method: method, object: "", outcome: .denied,
      detail: kind.rawValue)
    return denied.withLock { $0.note(entry, of: kind, at: clocks.now().instant) }
  }

  /// Writes the rows of connections that TLS has refused, until the task is cancelled.
  func writeWaiting() async {
    while let entries = await waiting.receive() {
      for entry in entries { try? await store.append(entry) }
    }
  }

  /// Writes the rows of refused calls that were only counted until now.
  func flush() async {
    for entry in denied.withLock({ $0.due(at: clocks.now().instant) }) { try? await store.append(entry) }
  }
}

/// Refused calls, of which one row in ten seconds is written for each caller and method. Of those that a flood consists
/// of (`Kind`), it is one row in a minute for each kind, caller and address.
struct DeniedCalls: Sendable {
  /// A refusal without a look at what the call asks for. The raw value is the text in the row.
  enum Kind: String, Hashable, Sendable {
    case certificate = "no valid certificate of a host"
    case handshake = "TLS refused the certificate, or none was shown"
    case failures = "too many wrong credentials"
    case joins = "too many attempts to join"
    case rejoins = "too many attempts to get another certificate"
    case changes = "more than rates.changes"
    case submissions = "more than rates.submissions"
  }

  private struct Key: Hashable, Sendable {
    var actor: String
    var address: String
    /// The name of a method, or the text of a kind.
    var method: String
    var interval = DeniedCalls.interval
  }

  private struct Count: Sendable {
    var first: Instant
    var more = 0
    var last: AuditEntry
  }

  static let interval = Duration.seconds(10)
  /// The same for a kind.
  static let kindInterval = Duration.seconds(60)
  /// The most pairs of caller and method that are told apart at one time.
  static let most = 1000
  private var counts: [Key: Count] = [:]

  init() {}

  /// Notes a refused call.
  /// - Returns: the row to write now; `nil` if the call was only counted.
  mutating func note(_ entry: AuditEntry, of kind: Kind? = nil, at now: Instant) -> AuditEntry? {
    var key = Key(actor: entry.actor, address: entry.peer.address, method: kind?.rawValue ?? entry.method)
    if kind != nil { key.interval = Self.kindInterval }
    if counts[key] == nil, counts.count >= Self.most { key = Key(actor: "", address: "", method: "") }
    guard counts[key] != nil else {
      counts[key] = Count(first: now, last: entry)
      return entry
    }
    counts[key]?.more += 1
    counts[key]?.last = entry
    return nil
  }

  /// The rows of calls that were counted and whose interval is over.
  mutating func due(at now: Instant) -> [AuditEntry] {
    let over = counts.filter { now - $0.value.first >= $0.key.interval }
    for key in over.keys { counts[key] = nil }
    return over.filter { $0.value.more > 0 }.sorted { $0.value.last.at < $1.value.last.at }.map { key, count in
      let why = key.interval == Self.kindInterval ? ", \(key.method)" : ""
      return count.last.with(
        .denied, "\(count.more) refused calls in \(key.interval.components.seconds) s\(why)")
    }
  }
}

extension String {
  /// The peer of a connection without its port, which is another one for each connection.
  var address: String {
    guard let colon = lastIndex(of: ":"), hasPrefix("ipv") else { return self }
    return String(self[..<colon])
  }
}
