import BatonBase

/// What the host's owner says about its network: the keys below `network` in worker.yaml.
package struct NetworkSettings: Hashable, Sendable {
  /// Interfaces that cost money, as patterns such as `wwan*` or `usb0`. They take precedence over what the system says.
  /// Key `network.metered`.
  package var metered: [String] = []
  /// Interfaces that cost no money. They take precedence over `metered` too. Key `network.unmetered`.
  package var unmetered: [String] = []
  /// `false`: each interface that is up and has an address counts as a network. This serves hosts without a way out,
  /// with jobs that do not need one. Key `network.requireDefaultRoute`.
  package var requireDefaultRoute = true
  /// How to check that the network leads to a target; `nil` for no check. Key `network.reachability`.
  package var reachability: ReachabilitySettings?

  package init() {}

  /// Whether the owner declared the interface as metered; `nil` if neither list has the interface.
  func isMetered(_ interface: String) -> Bool? {
    if unmetered.contains(where: { fnmatch($0, interface, 0) == 0 }) { return false }
    return metered.contains { fnmatch($0, interface, 0) == 0 } ? true : nil
  }
}
