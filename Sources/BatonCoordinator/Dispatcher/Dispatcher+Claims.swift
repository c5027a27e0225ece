package import BatonModel
package import BatonStore

/// Decides which ready requests start where.
extension Dispatcher {
  /// Places on one host for launches of one class. They are held until `settle` tells which launches the store has
  /// claimed for them, or until `giveUp`.
  package struct Reservation: Hashable, Sendable {
    package var requirementClass: RequirementClass
    /// The lease of the host when the reservation was made.
    package var lease: HostLease
    /// The GPUs of each place; an empty list if the class needs no GPU.
    package var places: [[Int]]
    /// The number of the class's latest news when the reservation was made.
    var news: Int
    /// The number of the reservation in `openClaims`.
    var number: Int

    package var host: HostName { lease.host }
  }

  /// Every obstacle for the next launch of `definition`, by host. The dispatcher decides with this list, and `explain`
  /// prints it. The request may start now if the fleet has no obstacle and some host has no obstacle.
  /// - Parameters:
  ///   - identifier: the identifier of the request, if it is known, because an instance of a wildcard can be evicted
  ///     singly.
  ///   - priority: the priority of the request; nil stands for the priority of its definition.
  ///   - principal: who submitted the request, if that is known: owners of hosts may limit that.
  package func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, _ priority: Priority? = nil,
    by principal: String? = nil
  ) -> (fleet: [Obstacle], hosts: [(HostName, [Obstacle])]) {
    let byHost = hosts.keys.sorted().map { name in
      (name, hosts[name].map { $0.obstacles(for: definition, identifier, priority, by: principal) } ?? [])
    }
    return (fleetObstacles(for: definition), byHost)
  }

  /// The obstacles that concern the whole fleet.
  func fleetObstacles(for definition: Definition) -> [Obstacle] {
    var found: [Obstacle] = []
    if isPaused { found.append(.fleetPaused) }
    if hosts.isEmpty { found.append(.noHosts) }
    if let limit = definition.maxRunning, runningByPattern[definition.pattern, default: 0] >= limit {
      found.append(.maxRunningReached(limit: limit))
    }
    if let spent = spentAllowance(of: definition) { found.append(spent) }
    if let gpu = definition.requirements.gpu, !hosts.isEmpty, !hosts.values.contains(where: { $0.host.couldOffer(gpu) })
    {
      found.append(.noHostHasGPU(needed: gpu))
    }
    return found
  }

  /// Reserves places for as many ready requests as the fleet can start now, at most `limit`, class by class in the
  /// order of their turns.
  package mutating func reserveReady(limit: Int) -> [Reservation] {
    var reservations: [Reservation] = []
    var left = limit
    for requirementClass in turns.map(\.requirementClass) where left > 0 {
      let made = reserve(requirementClass, count: left)
      guard !made.isEmpty else { continue }
      turn += 1
      ready[requirementClass]?.servedAt = turn
      ready[requirementClass]?.waitingSince = now.instant
      left -= made.reduce(0) { $0 + $1.places.count }
      reservations += made
    }
    return reservations + reservationsForRelief()
  }

  /// Reserves places for at most `count` launches of a class, on the hosts with the most free slots first.
  /// - Parameters:
  ///   - identifier: the identifier of the only request that the places are for, if it is known.
  ///   - principal: who submitted that request.
  package mutating func reserve(
    _ requirementClass: RequirementClass, _ identifier: JobIdentifier? = nil, by principal: String? = nil, count: Int
  ) -> [Reservation] {
    guard let definition = definitions[requirementClass.definition], fleetObstacles(for: definition).isEmpty else {
      return []
    }
    var left = min(count, definition.maxRunning.map { $0 - runningByPattern[definition.pattern, default: 0] } ?? count)
    var reservations: [Reservation] = []
    for name in hostsByFreeSlots() where left > 0 {
      if identifier == nil, isPassedOver(name, for: requirementClass) { continue }
      let places = takePlaces(
        on: name, for: definition, identifier, principal, requirementClass.priority, atMost: left)
      guard !places.isEmpty, let lease = hosts[name]?.ownLease else { continue }
      left -= places.count
      reservations.append(
        Reservation(
          requirementClass: requirementClass, lease: lease, places: places,
          news: ready[requirementClass]?.news ?? 0, number: openClaims.open()))
    }
    return reservations
  }

  /// Takes over the store's answer to a claim: the launches start on the reserved places, and the other places become
  /// free.
  /// - Parameters:
  ///   - hasMore: false if the class had no ready request left.
  ///   - hasFitting: true if a request that was left may run on the host; nil stands for the value of `hasMore`.
  package mutating func settle(
    _ reservation: Reservation, with assignments: [Assignment], hasMore: Bool, hasFitting: Bool? = nil
  ) -> [Effect] {
    if hasMore, !(hasFitting ?? hasMore), assignments.count < max(1, reservation.places.count) { passOver(reservation) }
    if let definition = definitions[reservation.requirementClass.definition] {
      for gpus in reservation.places { free(gpus, on: reservation.host, definition) }
    }
    if !hasMore, ready[reservation.requirementClass]?.news == reservation.news {
      ready[reservation.requirementClass] = nil
    }
    defer { openClaims.close(reservation.number) }
    // If the lease has ended meanwhile, the store has ended these launches with it.
    let isCurrent = hosts[reservation.host]?.ownLease == reservation.lease
    guard isCurrent else { return [] }
    if reservation.places.isEmpty { return hasFitting ?? hasMore ? relieve(reservation.requirementClass) : [] }
    return assignments.flatMap { begin($0, on: reservation.host) }
  }

  /// Frees the places of a reservation that the store did not answer. The class stays in `ready`, because it is
  /// unknown whether requests wait.
  package mutating func giveUp(_ reservation: Reservation) {
    if let definition = definitions[reservation.requirementClass.definition] {
      for gpus in reservation.places { free(gpus, on: reservation.host, definition) }
    }
    openClaims.close(reservation.number)
  }

  /// Starts a launch that the store has just claimed. Decisions that were made meanwhile (an expiry, a pause, a drain,
  /// an eviction) apply to it too.
  private mutating func begin(_ assignment: Assignment, on host: HostName) -> [Effect] {
    let launch = assignment.launch
    // `attached` got the launch from the store first and has delivered it.
    guard places[launch] == nil else { return [] }
    hold(launch, RunningState(assignment, at: now), on: host)
    let (isAttached, isDrained, hasEvictions) =
      change(host) { ($0.link == .attached, $0.isDrainedByOperator, !$0.host.evictions.isEmpty) } ?? (
        false, false, false
      )
    var effects: [Effect] = []
    if isAttached {
      effects = deliver(assignment, to: host)
    } else {
      change(host) { $0.undelivered.append(assignment) }
    }
    if let reason = openClaims.expiry(of: launch) { effects += expire(launch, reason) }
    if isPaused { effects += expire(launch, .paused) }
    if isDrained { effects += expire(launch, .draining) }
    return hasEvictions ? effects + enforceEvictions(on: host) : effects
  }

  /// Passes the host over for this class, because the store had no ready request of the class that may run there: its
  /// instances are evicted from the host, or the host's owner does not permit who submitted them. The host is not tried
  /// again for a second, or until the class has news, because it would hold places that other classes may use.
  private mutating func passOver(_ reservation: Reservation) {
    guard ready[reservation.requirementClass]?.news == reservation.news else { return }
    ready[reservation.requirementClass]?.passedOver[reservation.host] = now.instant + .seconds(1)
  }

  func isPassedOver(_ name: HostName, for requirementClass: RequirementClass) -> Bool {
    ready[requirementClass]?.passedOver[name].map { now.instant < $0 } ?? false
  }

  private mutating func hostsByFreeSlots() -> [HostName] {
    var free: [HostName: Int] = [:]
    let names = hostNames { state in
      guard state.link == .attached, state.isGranted, state.host.freeSlots > 0 else { return false }
      free[state.host.name] = state.host.freeSlots
      return true
    }
    // The names are sorted already, and a stable sort keeps that order.
    return names.sorted { free[$0, default: 0] > free[$1, default: 0] }
  }

  private mutating func takePlaces(
    on name: HostName, for definition: Definition, _ identifier: JobIdentifier?, _ principal: String?,
    _ priority: Priority, atMost count: Int
  ) -> [[Int]] {
    var places: [[Int]] = []
    while places.count < count, let state = hosts[name],
      state.obstacles(for: definition, identifier, priority, by: principal).isEmpty
    {
      places.append(takePlace(on: name, definition))
    }
    return places
  }

  /// Holds the slots and GPUs that one launch needs, and returns the GPUs.
  mutating func takePlace(on name: HostName, _ definition: Definition) -> [Int] {
    let gpus = definition.requirements.gpu.flatMap { gpu in
      hosts[name].map { state in
        Array(state.host.suitableGPUs(for: gpu).filter { !state.host.usedGPUs.contains($0) }.prefix(gpu.count))
      }
    }
    change(name) { state in
      state.host.usedSlots += definition.requirements.slots
      if let gpus { state.host.usedGPUs += gpus }
    }
    runningByPattern[definition.pattern, default: 0] += 1
    return gpus ?? []
  }

  private mutating func free(_ gpus: [Int], on name: HostName, _ definition: Definition) {
    change(name) { $0.giveBack(definition.requirements.slots, gpus) }
    let count = runningByPattern[definition.pattern, default: 0]
    runningByPattern[definition.pattern] = count > 1 ? count - 1 : nil
  }
}

/// The reservations that have not been settled yet. Their launches may already be in the store, where an operator can
/// stop them before the dispatcher knows them. The expiry must not get lost.
struct OpenClaims: Sendable {
  private var last = 0
  private var unsettled: Set<Int> = []
  /// Expiries of launches that are not known yet, each kept until the claims that were open at that time are settled.
  private var expiries: [LaunchKey: (reason: ExpiryReason, last: Int)] = [:]

  mutating func open() -> Int {
    last += 1
    unsettled.insert(last)
    return last
  }

  mutating func close(_ number: Int) {
    unsettled.remove(number)
    guard !expiries.isEmpty else { return }
    let oldest = unsettled.min() ?? .max
    expiries = expiries.filter { $0.value.last >= oldest }
  }

  /// Records why a launch that is not known yet has to stop; the first reason stays.
  mutating func note(_ reason: ExpiryReason, of launch: LaunchKey) {
    guard !unsettled.isEmpty, expiries[launch] == nil else { return }
    expiries[launch] = (reason, last)
  }

  func expiry(of launch: LaunchKey) -> ExpiryReason? { expiries[launch]?.reason }
}
