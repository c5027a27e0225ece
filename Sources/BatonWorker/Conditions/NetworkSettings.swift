#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a host's owner says of its network, in worker.yaml.
package struct NetworkSettings: Hashable, Sendable {
  /// Interfaces that cost money, as patterns such as `wwan*` or `usb0`: it beats what the system says. Key
  /// `network.metered`.
  package var metered: [String] = []
  /// Interfaces that cost none; beats `metered` too. Key `network.unmetered`.
  package var unmetered: [String] = []
  /// False takes every interface that is up and has an address for a network, as where there is no way out and jobs
  /// need none. Key `network.requireDefaultRoute`.
  package var requireDefaultRoute = true
  /// Nil asks nobody whether the network leads anywhere. Key `network.reachability`.
  package var reachability: ReachabilitySettings?

  package init() {}

  /// What the owner says of the interface, nil if nothing.
  func isMetered(_ interface: String) -> Bool? {
    if unmetered.contains(where: { fnmatch($0, interface, 0) == 0 }) { return false }
    return metered.contains { fnmatch($0, interface, 0) == 0 } ? true : nil
  }
}
