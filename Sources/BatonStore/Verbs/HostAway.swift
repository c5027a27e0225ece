package import BatonModel

/// That the connection to the host of a running request is lost. Its launch goes on, and is lost if the host is not
/// back before the end of its lease. Times are on the wall clock.
package struct HostAway: Hashable, Sendable {
  package var since: Timestamp
  package var leaseUntil: Timestamp

  package init(since: Timestamp, leaseUntil: Timestamp) { (self.since, self.leaseUntil) = (since, leaseUntil) }
}
