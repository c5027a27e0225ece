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
