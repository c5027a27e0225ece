import BatonBase
package import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Crypto
import Logging
import Synchronization

/// The name of a host belongs to the first worker that used it. The store keeps the SHA-256 hash of the secret in this
/// worker's first hello, and accepts no other secret for the name until an operator forgets the host.
extension Coordinator {
  static func digest(_ secret: [UInt8]?) -> [UInt8]? { secret.map { Array(SHA256.hash(data: $0)) } }

  /// Why this worker may not have the name; nil if it may have it.
  func objection(to hello: Hello) async throws -> String? {
    switch try await store.standing(of: hello.host, secret: Self.digest(hello.secret)) {
    case .matches: return nil
    case .differs:
      return """
        the name '\(hello.host)' belongs to another worker: this one has another secret. If it was installed again, or \
        its data folder was lost, run 'baton hosts --forget \(hello.host)'; otherwise give it another --name
        """
    case .missing:
      return """
        the name '\(hello.host)' belongs to a worker that proves itself by a secret, and this one sent none: is it of an \
        older version? Update it, or run 'baton hosts --forget \(hello.host)'
        """
    case .unclaimed:
      guard hasLeaseOfAnother(hello) else { return nil }
      return """
        another worker named '\(hello.host)' was here, and its lease still runs: it may come back, so this one is not \
        taken before the lease has ended
        """
    }
  }

  /// Whether another process with that name holds a lease. The name has no secret yet, so only the end of the lease
  /// shows whether that process is gone.
  private func hasLeaseOfAnother(_ hello: Hello) -> Bool {
    let now = clocks.now().instant
    return state.withLock { state in
      guard case .held(let incarnation, let until)? = state.core.dispatcher.hosts[hello.host]?.lease else {
        return false
      }
      return incarnation != hello.incarnation && until > now
    }
  }

  /// Forgets the secret of a name. The next worker with that name is accepted with any secret.
  package func forget(_ host: HostName) async throws {
    try requireKnown(host)
    try await translating { try await self.store.forgetSecret(of: host) }
    logger.notice(
      "an operator released the name of a host: the next worker that says it is taken",
      metadata: [Names.LogKey.host: "\(host)"])
  }

  /// Takes a supervisor's report that its worker's process died: the lease ends at once and not only when it runs out.
  /// A report has no effect if its secret is missing or wrong, or if the process does not hold the lease.
  package func processDied(
    _ process: WorkerProcess, secret: [UInt8]?, isBlameless: Bool
  ) async throws {
    switch try await store.standing(of: process.host, secret: Self.digest(secret)) {
    case .matches, .unclaimed:
      decide { state in
        state.core.decide { $0.processDied(process.host, process.incarnation, isBlameless: isBlameless) }
      }
    case .differs, .missing:
      logger.warning(
        "a report that a worker died was not taken: it does not prove whose it is",
        metadata: [Names.LogKey.host: "\(process.host)"])
    }
  }
}
