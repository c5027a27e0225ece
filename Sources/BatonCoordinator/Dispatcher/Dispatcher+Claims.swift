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
    /// Where the class stood in the order of turns before; nil if the reservation is no turn of the class.
    var turnBefore: TurnBefore?

    struct TurnBefore: Hashable, Sendable {
      var servedAt: Int
      var waitingSince: Instant
    }

    package var host: HostName { lease.host }
  }

  /// Every obstacle for the next launch of `definition`, by host. The dispatcher decides with this list, and `explain`
  /// prints it. The request may start now if the fleet has no obstacle and some host has no obstacle.
  /// - Parameters:
  ///   - identifier: the identifier of the request, if it is known, because an instance of a wildcard can be evicted
  ///     singly.
  ///   - priority: the priority of the request; nil stands for the priority of its definition.
  ///   - principal: who submitted the request, if that is known: owners of hosts may limit that.
  ///   - requirementClass: the class of the request, if it is known. A request whose class is not known stands behind
  ///     all others of its priority.
  package func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, _ priority: Priority? = nil,
    by principal: String? = nil, of requirementClass: RequirementClass? = nil
  ) -> (fleet: [Obstacle], hosts: [(HostName, [Obstacle])]) {
    let byHost = hosts.keys.sorted().map { name in
      let found = hosts[name].map {
        obstacles(on: $0, for: definition, requirementClass, identifier, priority, by: principal)
      }
      return (name, found ?? [])
    }
    return (fleetObstacles(for: definition, of: requirementClass), byHost)
  }

  /// Every obstacle of one host, as in `obstacles`.
  package func obstacles(
    on state: HostState, for definition: Definition, _ requirementClass: RequirementClass?,
    _ identifier: JobIdentifier? = nil, _ priority: Priority? = nil, by principal: String? = nil
  ) -> [Obstacle] {
    let priority = requirementClass?.priority ?? priority
    return state.obstacles(
      for: definition, identifier, priority, by: principal,
      asker: asker(requirementClass, definition, priority, on: state))
  }

  /// The obstacles that concern the whole fleet.
  /// - Parameters:
  ///   - requirementClass: the class of the request, if it is known.
  ///   - offersGPU: whether some host has the GPUs that the definition needs; nil if that is to be found out, which
  ///     looks at every host.
  func fleetObstacles(
    for definition: Definition, of requirementClass: RequirementClass? = nil, offersGPU: Bool? = nil
  ) -> [Obstacle] {
    var found: [Obstacle] = []
    if isPaused { found.append(.fleetPaused) }
    if hosts.isEmpty { found.append(.noHosts) }
    if let limit = definition.maxRunning, runningByPattern[definition.pattern, default: 0] >= limit {
      found.append(.maxRunningReached(limit: limit))
    }
    found += quotaObstacles(for: definition, of: requirementClass)
    if let spent = spentAllowance(of: definition) { found.append(spent) }
    if let gpu = definition.requirements.gpu, !hosts.isEmpty,
      !(offersGPU ?? hosts.values.contains { $0.host.couldOffer(gpu) })
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
    var turns = turns[...]
    while left > 0, let first = turns.first {
      let level = turns.prefix { $0.priority == first.priority }
      turns = turns.dropFirst(level.count)
      reservations += reserve(Array(level), &left) { $0.serve($1, count: $2) }
    }
    return reservations + reservationsForRelief()
  }

  /// Reserves places for a class in its turn.
  private mutating func serve(_ requirementClass: RequirementClass, count: Int) -> [Reservation] {
    var made = reserve(requirementClass, count: count)
    guard !made.isEmpty else { return [] }
    let before = ready[requirementClass].map {
      Reservation.TurnBefore(servedAt: $0.servedAt, waitingSince: $0.waitingSince)
    }
    for index in made.indices { made[index].turnBefore = before }
    turn += 1
    ready[requirementClass]?.servedAt = turn
    ready[requirementClass]?.waitingSince = now.instant
    return made
  }

  /// Reserves places for at most `count` launches of a class, on the hosts that suit it best (`HostOffer`).
  /// - Parameters:
  ///   - identifier: the identifier of the only request that the places are for, if it is known.
  ///   - principal: who submitted that request.
  package mutating func reserve(
    _ requirementClass: RequirementClass, _ identifier: JobIdentifier? = nil, by principal: String? = nil, count: Int
  ) -> [Reservation] {
    guard let definition = definitions[requirementClass.definition],
      fleetObstacles(for: definition, of: requirementClass).isEmpty
    else { return [] }
    var left = min(count, definition.maxRunning.map { $0 - runningByPattern[definition.pattern, default: 0] } ?? count)
    var offers = offers(for: definition, requirementClass)
    left = min(left, ledger.room(for: definition))
    var taken: [(lease: HostLease, places: [[Int]])] = []
    while left > 0, let name = offers.popBest()?.host {
      if identifier == nil, isPassedOver(name, for: requirementClass) { continue }
      guard let state = hosts[name], let lease = state.ownLease,
        obstacles(on: state, for: definition, requirementClass, identifier, by: principal).isEmpty
      else { continue }
      let gpus = takePlace(on: name, definition)
      left -= 1
      // What is saved of a namespace's quota for another class stays free.
      if left > 0, !quotaObstacles(for: definition, of: requirementClass).isEmpty { left = 0 }
      // The host that suits best usually suits best again.
      if let index = taken.lastIndex(where: { $0.lease == lease }) {
        taken[index].places.append(gpus)
      } else {
        taken.append((lease, [gpus]))
      }
      if let state = hosts[name], state.host.freeSlots > 0 {
        offers.add(HostOffer(state, for: definition.requirements, requirementClass, rules.placement))
      }
    }
    return taken.map { lease, places in
      Reservation(
        requirementClass: requirementClass, lease: lease, places: places,
        news: ready[requirementClass]?.news ?? 0, number: openClaims.open())
    }
  }

  /// Takes over the store's answer to a claim: the launches start on the reserved places, and the other places become
  /// free.
  /// - Parameters:
  ///   - hasMore: false if the class had no ready request left.
  ///   - hasFitting: true if a request that was left may run on the host; nil stands for the value of `hasMore`.
  ///   - first: the first request that was left, if the store has said which one it is.
  package mutating func settle(
    _ reservation: Reservation, with assignments: [Assignment], hasMore: Bool, hasFitting: Bool? = nil,
    first: WaitingHead? = nil
  ) -> [Effect] {
    if let first { noteFirst(first, of: reservation.requirementClass) }
    noteForBooking(reservation, assignments, hasMore: hasMore, hasFitting: hasFitting ?? hasMore)
    noteForSaving(reservation.requirementClass, hasStarted: !assignments.isEmpty, hasMore: hasMore)
    if hasMore, !(hasFitting ?? hasMore), assignments.count < max(1, reservation.places.count) { passOver(reservation) }
    if assignments.isEmpty, !(hasFitting ?? hasMore) { giveTurnBack(reservation) }
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
    giveTurnBack(reservation)
    openClaims.close(reservation.number)
  }

  /// A class of which nothing could start, because none of its requests may run on the host, has not been served.
  private mutating func giveTurnBack(_ reservation: Reservation) {
    guard let before = reservation.turnBefore, let present = ready[reservation.requirementClass] else { return }
    ready[reservation.requirementClass]?.servedAt = min(before.servedAt, present.servedAt)
    ready[reservation.requirementClass]?.waitingSince = min(before.waitingSince, present.waitingSince)
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

  private mutating func free(_ gpus: [Int], on name: HostName, _ definition: Definition) {
    change(name) { $0.giveBack(definition.requirements.slots, gpus) }
    count(-1, of: definition)
  }

  /// Counts launches of a definition that hold places, or do not any more if the number is negative.
  mutating func count(_ launches: Int, of definition: Definition) {
    let count = runningByPattern[definition.pattern, default: 0] + launches
    runningByPattern[definition.pattern] = count > 0 ? count : nil
    ledger.count(launches, of: definition)
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
