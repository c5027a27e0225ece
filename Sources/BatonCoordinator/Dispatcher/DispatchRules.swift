package import BatonModel

/// How the dispatcher chooses among hosts and among requests. Each value is a key of `coordinator.yaml`.
package struct DispatchRules: Hashable, Sendable {
  package var placement = Placement.pack
  /// How long a request waits until it counts as one priority higher, by the steady clock; `nil` if priorities do not
  /// rise.
  package var ageAfter: Duration? = .seconds(3600)
  /// How long a request waits until it reserves a host where room comes free soon, by the steady clock; `nil` if none
  /// does.
  package var reserveAfter: Duration? = .seconds(60)
  /// The namespaces of the fleet, with their weights and quotas.
  package var namespaces = Namespaces()

  package init() {}
}

/// Which of several hosts that can take a request gets it, when the job prefers none of them.
package enum Placement: String, Sendable, CaseIterable {
  /// The host with the fewest free slots, so that hosts with many free slots stay free for requests that need them.
  case pack
  /// The host with the most free slots, so that the launches of a small fleet disturb each other least.
  case spread
}
