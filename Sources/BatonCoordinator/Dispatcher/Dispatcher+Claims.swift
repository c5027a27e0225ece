package import BatonModel

/// Which ready requests start where.
extension Dispatcher {
  /// Places on one host for launches of one class, held from now on until `settle` says what the store claimed for them.
  package struct Reservation: Hashable, Sendable {
    package var requirementClass: RequirementClass
    package var host: HostName
    package var incarnation: Incarnation
    /// The GPUs of each place; empty lists where none are needed.
    package var places: [[Int]]
    /// The class's news at that time.
    var news: Int
  }

  /// Every obstacle for the next launch of `definition`, by host: the one list that the dispatcher decides with and
  /// that `explain` prints. The request may start now if nothing concerns the fleet and some host has no obstacle.
  package func obstacles(for definition: Definition) -> (fleet: [Obstacle], hosts: [(HostName, [Obstacle])]) {
    let byHost = hosts.keys.sorted().map { name in
      (name, hosts[name].map { Policy.obstacles(for: definition, on: $0.host) } ?? [])
    }
    return (fleetObstacles(for: definition), byHost)
  }

  func fleetObstacles(for definition: Definition) -> [Obstacle] {
    var found: [Obstacle] = []
    if isPaused { found.append(.fleetPaused) }
    if hosts.isEmpty { found.append(.noHosts) }
    if let limit = definition.maxRunning, runningByPattern[definition.pattern, default: 0] >= limit {
      found.append(.maxRunningReached(limit: limit))
    }
    return found
  }

  /// Places for as many ready requests as the fleet can start now, at most `limit`: classes by priority, and within one
  /// priority the one that was served longest ago.
  package mutating func reserveReady(limit: Int) -> [Reservation] {
    var reservations: [Reservation] = []
    var left = limit
    let order = ready.sorted { first, second in
      let (a, b) = (first.key, second.key)
      if a.priority != b.priority { return a.priority > b.priority }
      return first.value.servedAt != second.value.servedAt ? first.value.servedAt < second.value.servedAt : a < b
    }
    for (requirementClass, _) in order where left > 0 {
      let made = reserve(requirementClass, count: left)
      guard !made.isEmpty else { continue }
      turn += 1
      ready[requirementClass]?.servedAt = turn
      left -= made.reduce(0) { $0 + $1.places.count }
      reservations += made
    }
    return reservations
  }

  /// Places for at most `count` launches of a class, on the hosts with most free slots first.
  package mutating func reserve(_ requirementClass: RequirementClass, count: Int) -> [Reservation] {
    guard let definition = definitions[requirementClass.definition], fleetObstacles(for: definition).isEmpty else {
      return []
    }
    var left = min(count, definition.maxRunning.map { $0 - runningByPattern[definition.pattern, default: 0] } ?? count)
    var reservations: [Reservation] = []
    for name in hostsByFreeSlots() where left > 0 {
      let places = takePlaces(on: name, for: definition, atMost: left)
      guard !places.isEmpty, let incarnation = hosts[name]?.incarnation else { continue }
      left -= places.count
      reservations.append(
        Reservation(
          requirementClass: requirementClass, host: name, incarnation: incarnation, places: places,
          news: ready[requirementClass]?.news ?? 0))
    }
    return reservations
  }

  /// The store claimed these launches for the places of a reservation; the other places are free again.
  /// - Parameter hasMore: false if the class had no ready request left then.
  package mutating func settle(
    _ reservation: Reservation, with assignments: [Assignment], hasMore: Bool
  ) -> [Effect] {
    if let definition = definitions[reservation.requirementClass.definition] {
      for gpus in reservation.places { free(gpus, on: reservation.host, definition) }
    }
    if !hasMore, ready[reservation.requirementClass]?.news == reservation.news {
      ready[reservation.requirementClass] = nil
    }
    // If the lease ended meanwhile, the store has ended these launches with it.
    guard hosts[reservation.host]?.incarnation == reservation.incarnation else { return [] }
    return assignments.flatMap { assignment in
      hold(assignment.launch, RunningState(assignment), on: reservation.host)
      return deliver(assignment, to: reservation.host)
    }
  }

  private func hostsByFreeSlots() -> [HostName] {
    hosts.values.filter { $0.link == .attached && $0.host.freeSlots > 0 }
      .sorted { ($1.host.freeSlots, $0.host.name) < ($0.host.freeSlots, $1.host.name) }
      .map(\.host.name)
  }

  private mutating func takePlaces(on name: HostName, for definition: Definition, atMost count: Int) -> [[Int]] {
    var places: [[Int]] = []
    while places.count < count, let host = hosts[name]?.host, Policy.obstacles(for: definition, on: host).isEmpty {
      let gpus = definition.requirements.gpu.map { gpu in
        Array(host.suitableGPUs(for: gpu).filter { !host.usedGPUs.contains($0) }.prefix(gpu.count))
      }
      places.append(gpus ?? [])
      hosts[name]?.host.usedSlots += definition.requirements.slots
      hosts[name]?.host.usedGPUs += gpus ?? []
      runningByPattern[definition.pattern, default: 0] += 1
    }
    return places
  }

  private mutating func free(_ gpus: [Int], on name: HostName, _ definition: Definition) {
    hosts[name]?.host.usedSlots -= definition.requirements.slots
    hosts[name]?.host.usedGPUs.removeAll { gpus.contains($0) }
    let count = runningByPattern[definition.pattern, default: 0]
    runningByPattern[definition.pattern] = count > 1 ? count - 1 : nil
  }
}
