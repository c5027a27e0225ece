package import BatonModel

/// The lease of a host, as the coordinator knows it that owns the lease. Every verb that acts for a host names it: the
/// store refuses a lease whose number is not the host's present one (`.moved`), because another coordinator or another
/// worker process has the host since.
package struct HostLease: Hashable, Sendable, CustomStringConvertible {
  package var host: HostName
  /// The worker process that holds the lease.
  package var incarnation: Incarnation
  /// From 1. It rises whenever the owner or the worker process changes, and stays when the same process reconnects to
  /// the same coordinator.
  package var number: Int64

  package init(host: HostName, incarnation: Incarnation, number: Int64) {
    self.host = host
    self.incarnation = incarnation
    self.number = number
  }

  /// Why a second worker of the same name is refused. The text is always the same, so that a worker that tries again
  /// logs it only once.
  package static func twoOfOneName(_ host: HostName) -> String {
    "another worker named '\(host)' is connected and alive, so this one is not taken: give one of them another --name"
  }

  package var description: String { "\(host) \(incarnation) (lease \(number))" }
}

/// The answer to `Store.grantLease`.
package struct LeaseGrant: Hashable, Sendable {
  package var lease: HostLease
  /// The launches of an earlier worker process, which ended as lost: that process belonged to a coordinator that has
  /// ended, or its connection to it was gone.
  package var ended: [EndingAnswer] = []
}

extension StoreError {
  static func moved(_ lease: HostLease) -> StoreError {
    StoreError(.moved, "The lease of host \(lease.host) belongs to another coordinator or another worker process now.")
  }
}
