import BatonBase
package import BatonModel
package import BatonProcess

/// Tells whether a host has a network and whether the network costs money. A host has a network if a default route
/// leads through an interface that is up.
///
/// Each reading reads the kernel's files again. The probe remembers nothing and does not smooth its readings.
package struct NetworkProbe: Sendable {
  package static let source = "kernel"

  private let root: SystemRoot
  private let settings: NetworkSettings

  package init(root: SystemRoot, settings: NetworkSettings = NetworkSettings()) {
    self.root = root
    self.settings = settings
  }

  /// Reads the network's state. The state is unknown if the routes cannot be read.
  /// - Parameter cost: what NetworkManager says, or `nil` if the host does not have it. The settings and the kind of
  ///   the interface take precedence over it.
  package func read(cost: NetworkCost? = nil) -> Reading<NetworkState> {
    let routes = NetworkRoutes(root: root, folder: folder)
    // The default routes of IPv4 and IPv6 usually lead through one interface, which is read once.
    var seen: Set<String> = []
    let found = routes.defaults.filter { seen.insert($0.interface).inserted }
      .map { NetworkInterface($0.interface, in: root) }
    if let first = found.first(where: \.isUp) { return connected("default by", first, found, cost) }
    if !settings.requireDefaultRoute, let any = addressed(routes) {
      return connected("no default route, but", any, [any], cost)
    }
    if let gap = routes.gaps.first { return Reading(nil, source: Self.source, raw: gap) }
    let down = found.map { "\($0.name) (\($0.state))" }.joined(separator: ", ")
    return Reading(.unavailable, source: Self.source, raw: down.isEmpty ? "no default route" : "default by \(down)")
  }

  /// The folder with the files of the network namespace. `proc/net` belongs to the process that reads it, below any
  /// root. For another system's root, the files of that system's first process are read.
  private var folder: String { !root.isOwn && root.exists("proc/1/net/route") ? "proc/1/net" : "proc/net" }

  /// The first interface that is up and has an address: an interface with an IPv4 route, because each IPv4 address has
  /// a route to its own subnet, or with an IPv6 address that is valid beyond the link.
  private func addressed(_ routes: NetworkRoutes) -> NetworkInterface? {
    var names = routes.routes.map(\.interface)
    names += (root.string("\(folder)/if_inet6") ?? "").split(separator: "\n").compactMap { line in
      let columns = line.split(separator: " ")
      return columns.count == 6 && columns[3] == "00" ? String(columns[5]) : nil
    }
    var seen: Set<String> = ["lo"]
    return names.lazy.filter { seen.insert($0).inserted }.map { NetworkInterface($0, in: root) }.first(where: \.isUp)
  }

  private func connected(
    _ how: String, _ interface: NetworkInterface, _ all: [NetworkInterface], _ cost: NetworkCost?
  ) -> Reading<NetworkState> {
    let (isMetered, why) = isMetered(interface, all, cost)
    let raw = "\(how) \(interface.name) (\(interface.state)), \(isMetered ? "metered" : "unmetered")\(why)"
    return Reading(isMetered ? .metered : .unmetered, source: Self.source, raw: raw)
  }

  private func isMetered(
    _ interface: NetworkInterface, _ all: [NetworkInterface], _ cost: NetworkCost?
  ) -> (Bool, String) {
    if let said = settings.isMetered(interface.name) { return (said, " by worker.yaml") }
    if interface.isMobile { return (true, ": mobile") }
    // A tunnel costs what the network beneath it costs: the next default route that is not a tunnel.
    if interface.isTunnel, let beneath = all.first(where: { $0.isUp && !$0.isTunnel }) {
      let (isMetered, why) = isMetered(beneath, [], cost)
      return (isMetered, " through \(beneath.name)\(why)")
    }
    if let said = cost?.isMetered { return (said, " by NetworkManager") }
    return (false, "")
  }
}

/// What the host's owner says about its network: the keys below `network` in worker.yaml.
public struct NetworkSettings: Hashable, Sendable {
  /// Interfaces that cost money, as patterns such as `wwan*` or `usb0`. They take precedence over what the system says.
  /// Key `network.metered`.
  public var metered: [String] = []
  /// Interfaces that cost no money. They take precedence over `metered` too. Key `network.unmetered`.
  public var unmetered: [String] = []
  /// `false`: each interface that is up and has an address counts as a network. This serves hosts without a way out,
  /// with jobs that do not need one. Key `network.requireDefaultRoute`.
  public var requireDefaultRoute = true
  /// How to check that the network leads to a target; `nil` for no check. Key `network.reachability`.
  public var reachability: ReachabilitySettings?

  /// Creates the default settings.
  public init() {}

  /// Whether the owner declared the interface as metered; `nil` if neither list has the interface.
  func isMetered(_ interface: String) -> Bool? {
    if unmetered.contains(where: { fnmatch($0, interface, 0) == 0 }) { return false }
    return metered.contains { fnmatch($0, interface, 0) == 0 } ? true : nil
  }
}
