package import BatonModel

/// Operators' orders about single hosts and requests.
extension Dispatcher {
  /// Sets whether an operator evicts the pattern from the host. While it is evicted, the launches of these identifiers
  /// leave the host and do not start there. The store keeps the setting across restarts.
  package mutating func setEvicted(
    _ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool
  ) -> [Effect] {
    if hosts[host] == nil { hosts[host] = .unknown(host) }
    guard isEvicted else {
      hosts[host]?.host.evictions.remove(pattern)
      for requirementClass in ready.keys { ready[requirementClass]?.passedOver[host] = nil }
      return []
    }
    hosts[host]?.host.evictions.insert(pattern)
    return enforceEvictions(on: host)
  }

  /// Expires the launches on this host that are evicted from it.
  mutating func enforceEvictions(on host: HostName) -> [Effect] {
    guard let state = hosts[host], state.lease != .elsewhere, !state.host.evictions.isEmpty else { return [] }
    let launches = state.launches.filter { launch in
      launch.value.expiring == nil && state.host.evictions.contains { $0.matches(launch.value.identifier) }
    }
    return launches.keys.sorted().flatMap { expire($0, .evicted) }
  }

  /// The hosts where launches of `pattern` run; with `isEvicted`, the hosts that `pattern` is evicted from.
  package func hosts(with pattern: IdentifierPattern, isEvicted: Bool) -> [HostName] {
    hosts.values.filter { state in
      isEvicted
        ? state.host.evictions.contains(pattern)
        : state.launches.values.contains { pattern.matches($0.identifier) }
    }.map(\.host.name).sorted()
  }

  /// Replaces the host's real conditions with these for the given time.
  /// - Returns: `isConnected` is false, and nothing happens, if the host's worker is not connected.
  package func simulate(
    _ overrides: ConditionOverrides, on host: HostName, lasting: Duration
  ) -> (isConnected: Bool, effects: [Effect]) {
    guard hosts[host]?.link == .attached else { return (false, []) }
    return (true, [.send(host, .simulate(overrides, lasting: lasting))])
  }

  /// A place for a simulated launch, or the obstacles that prevent it. The conditions of the host do not matter.
  package enum SimulatedPlace: Hashable, Sendable {
    case reserved(Reservation)
    case none([HostObstacle])
  }

  /// Reserves a place for a simulated launch.
  /// - Parameter host: the host to start on; nil takes the first host that can run it.
  package mutating func reserveSimulated(
    _ requirementClass: RequirementClass, _ identifier: JobIdentifier, by principal: String? = nil, on host: HostName?
  ) -> SimulatedPlace {
    guard let definition = definitions[requirementClass.definition] else { return .none([]) }
    let candidates = host.map { [$0] } ?? hosts.keys.sorted()
    var obstacles: [HostObstacle] = isPaused ? [HostObstacle(host: nil, obstacle: .fleetPaused)] : []
    if candidates.isEmpty { obstacles.append(HostObstacle(host: nil, obstacle: .noHosts)) }
    for name in candidates {
      let found = hosts[name].map { state in
        state.link == .attached
          ? Policy.obstaclesOfSimulatedLaunch(for: definition, identifier, by: principal, on: state.host)
          : [state.host.hasLease ? .hostAway : .hostGone]
      }
      if found == [], !isPaused, let reservation = reserve(requirementClass, definition, simulatedOn: name) {
        return .reserved(reservation)
      }
      obstacles += (found ?? [.hostGone]).map { HostObstacle(host: name, obstacle: $0) }
    }
    return .none(obstacles)
  }

  private mutating func reserve(
    _ requirementClass: RequirementClass, _ definition: Definition, simulatedOn name: HostName
  ) -> Reservation? {
    guard let lease = hosts[name]?.ownLease else { return nil }
    return Reservation(
      requirementClass: requirementClass, lease: lease, places: [takePlace(on: name, definition)],
      news: ready[requirementClass]?.news ?? 0, number: openClaims.open())
  }
}
