import BatonModel

/// Makes and keeps bookings, once in each tick, so that a round of dispatching costs no more because of them. `Booking`
/// says what a booking is, and why no request waits for ever.
extension Dispatcher {
  /// What a class that waits long remembers between its bookings.
  struct LongWait: Hashable, Sendable {
    /// How many bookings were given up.
    var attempts = 0
    /// When the class is looked at again, and how long it was not looked at before.
    var looksAt = Instant(nanoseconds: .min)
    var pause = Duration.zero
    /// Whether it was looked at in vain because other classes have booked its hosts.
    var isBehindOthers = false
    /// The hosts where its first request may not run, each with the time of the steady clock until which that is
    /// believed.
    var vetoes: [HostName: Timestamp] = [:]
    /// How often quota of its namespace was saved for it in vain.
    var savings = 0
    /// When quota may be saved for it again, and how long that was not considered before.
    var savesAt = Instant(nanoseconds: .min)
    var savingPause = Duration.zero

    static let leastPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(60)
  }

  /// How many hosts are examined in one tick for new bookings; about a millisecond. In a larger fleet a class is
  /// looked at in one of several ticks.
  static let hostsPerTick = 2_048

  /// Where a class can book.
  private enum Chance {
    case book(HostName, due: Duration, waitsFor: [LaunchKey: Int])
    /// It can start at once, without a booking.
    case starts
    case none(isBehindOthers: Bool)
  }

  /// Gives up the bookings that cannot be met any more, and makes new ones.
  mutating func keepBookings() {
    guard let reserveAfter = rules.reserveAfter else { return }
    for (requirementClass, host) in bookings.sorted(by: { $0.key < $1.key })
    where !isKept(requirementClass, on: host, reserveAfter) {
      giveUpBooking(of: requirementClass)
    }
    for (_, host) in bookings.sorted(by: { $0.key < $1.key }) { expectSooner(on: host) }
    bookingBudget = min(bookingBudget + Self.hostsPerTick, max(Self.hostsPerTick, hosts.count))
    if !rules.namespaces.isEmpty { keepSavings(reserveAfter) }
    guard ready.values.contains(where: { now.steady - $0.first.since >= reserveAfter }) else { return }
    for turn in turns where wantsBooking(turn.requirementClass, reserveAfter) {
      guard bookingBudget >= hosts.count else { return }
      bookingBudget -= max(1, hosts.count)
      look(for: turn)
    }
  }

  private func wantsBooking(_ requirementClass: RequirementClass, _ reserveAfter: Duration) -> Bool {
    guard let state = ready[requirementClass], bookings[requirementClass] == nil else { return false }
    return now.steady - state.first.since >= reserveAfter && now.instant >= state.longWait.looksAt
  }

  /// How many hosts are reserved.
  package var reservedHosts: Int { bookings.count }

  // MARK: Keeping

  private func isKept(_ requirementClass: RequirementClass, on name: HostName, _ reserveAfter: Duration) -> Bool {
    guard let state = hosts[name], state.isGranted, let booking = state.booking, let waiting = ready[requirementClass],
      let definition = definitions[requirementClass.definition]
    else { return false }
    // The request for which the host was booked may have started, or ended, elsewhere.
    let isItsRequest =
      booking.first.request == nil || waiting.first.request == nil || booking.first.request == waiting.first.request
    return isItsRequest && now.steady < booking.endsAt && now.steady - waiting.first.since >= reserveAfter
      && !isVetoed(name, waiting) && fleetObstacles(for: definition, of: requirementClass).isEmpty
      && state.obstacles(for: definition, nil, requirementClass.priority).allSatisfy(\.mayClearSoon)
  }

  /// Moves the due time of a booking forward if the launches for which it waits have ended sooner than expected. It
  /// never moves back.
  private mutating func expectSooner(on name: HostName) {
    guard let state = hosts[name], let booking = state.booking else { return }
    let rest = booking.waitsFor.keys.sorted().compactMap { state.launches[$0] }.map(expectedRest).max() ?? .zero
    hosts[name]?.booking?.dueAt = min(booking.dueAt, now.steady + rest)
  }

  private func isVetoed(_ name: HostName, _ waiting: ReadyClass) -> Bool {
    waiting.longWait.vetoes[name].map { now.steady < $0 } ?? false
  }

  /// Gives up the booking of a class. The classes that found all their hosts booked are looked at again, in the order
  /// of their turns.
  mutating func giveUpBooking(of requirementClass: RequirementClass, isMet: Bool = false) {
    guard let name = bookings.removeValue(forKey: requirementClass) else { return }
    change(name) { if $0.booking?.requirementClass == requirementClass { $0.booking = nil } }
    let attempts = ready[requirementClass]?.longWait.attempts ?? 0
    ready[requirementClass]?.longWait.attempts = isMet ? 0 : attempts + 1
    ready[requirementClass]?.longWait.looksAt = now.instant
    for other in ready.keys where ready[other]?.longWait.isBehindOthers == true {
      ready[other]?.longWait.looksAt = now.instant
    }
  }

  /// Takes account of the store's answer to a claim.
  /// - Parameter hasFitting: whether a request that was left may run on the host.
  mutating func noteForBooking(
    _ reservation: Reservation, _ assignments: [Assignment], hasMore: Bool, hasFitting: Bool
  ) {
    let requirementClass = reservation.requirementClass
    guard let booked = bookings[requirementClass], let booking = hosts[booked]?.booking,
      !reservation.places.isEmpty
    else { return }
    guard hasMore, let first = ready[requirementClass]?.first else {
      return giveUpBooking(of: requirementClass, isMet: true)
    }
    if let request = booking.first.request, request != first.request {
      return giveUpBooking(of: requirementClass, isMet: true)
    }
    guard reservation.host == booked else { return }
    // The first request has not started where room was kept for it, and a later one has, or none may run there. An
    // older request may have come back before it, because its launch was interrupted.
    let isOvertaken = assignments.contains { $0.launch.request > first.request ?? $0.launch.request }
    let isRefused = assignments.isEmpty ? !hasFitting : isOvertaken
    if isRefused { ready[requirementClass]?.longWait.vetoes[booked] = now.steady + Booking.vetoLasts }
    if isRefused || !assignments.isEmpty { giveUpBooking(of: requirementClass, isMet: !isRefused) }
  }

  // MARK: Making

  private mutating func look(for turn: Turn) {
    let requirementClass = turn.requirementClass
    guard let definition = definitions[requirementClass.definition], let waiting = ready[requirementClass] else {
      return
    }
    switch fleetObstacles(for: definition, of: requirementClass).isEmpty
      ? chance(of: turn, definition, waiting) : .none(isBehindOthers: false)
    {
    case .starts: ready[requirementClass]?.longWait.looksAt = now.instant + LongWait.leastPause
    case .none(let isBehindOthers):
      // Nothing of its namespace that comes later may start while quota is saved for it, so it books as soon as it can.
      let longest = isSavedFor(requirementClass) ? LongWait.leastPause : LongWait.longestPause
      let pause = min(max(waiting.longWait.pause * 2, LongWait.leastPause), longest)
      ready[requirementClass]?.longWait.pause = isBehindOthers ? .zero : pause
      ready[requirementClass]?.longWait.looksAt = now.instant + (isBehindOthers ? LongWait.leastPause : pause)
      ready[requirementClass]?.longWait.isBehindOthers = isBehindOthers
    case .book(let name, let due, let waitsFor):
      makeRoomForBooking(on: name)
      let patience = max(due, Booking.leastPatience) * (1 << min(waiting.longWait.attempts, 20))
      hosts[name]?.booking = Booking(
        requirementClass: requirementClass, pattern: definition.pattern, slots: definition.requirements.slots,
        gpu: definition.requirements.gpu, servedAt: waiting.servedAt, first: waiting.first, dueAt: now.steady + due,
        endsAt: now.steady + due + patience, waitsFor: waitsFor)
      bookings[requirementClass] = name
      ready[requirementClass]?.longWait.pause = .zero
      ready[requirementClass]?.longWait.isBehindOthers = false
    }
  }

  /// A class of a higher priority takes the host of a class of a lower one; and if there are too many bookings, that of
  /// the last class in the order of turns.
  private mutating func makeRoomForBooking(on name: HostName) {
    if let other = hosts[name]?.booking?.requirementClass { giveUpBooking(of: other) }
    guard bookings.count >= Booking.limit, let last = lastBooker else { return }
    giveUpBooking(of: last.requirementClass)
  }

  private var lastBooker: Turn? { bookings.keys.map(turn(of:)).max() }

  /// The host where the class could start soonest.
  private func chance(of turn: Turn, _ definition: Definition, _ waiting: ReadyClass) -> Chance {
    var best: (name: HostName, isBooked: Bool, due: Duration, waitsFor: [LaunchKey: Int])?
    var isBehindOthers = false
    let isFull = bookings.count >= Booking.limit && lastBooker.map { $0.priority >= turn.priority } ?? false
    for state in hosts.values where state.link == .attached && state.isGranted {
      let name = state.host.name
      if isVetoed(name, waiting) || isPassedOver(name, for: turn.requirementClass) { continue }
      let obstacles = obstacles(on: state, for: definition, turn.requirementClass)
      if obstacles.isEmpty { return .starts }
      guard obstacles.allSatisfy(\.mayClearSoon) else { continue }
      let booker = state.booking.map { self.turn(of: $0) }
      guard !isFull, booker.map({ $0.priority < turn.priority }) ?? true else {
        isBehindOthers = true
        continue
      }
      guard let (due, waitsFor) = soonest(definition.requirements, on: state) else { continue }
      let isBetter = best.map { ($0.isBooked ? 1 : 0, $0.due, $0.name) > (booker == nil ? 0 : 1, due, name) } ?? true
      if isBetter { best = (name, booker != nil, due, waitsFor) }
    }
    return best.map { .book($0.name, due: $0.due, waitsFor: $0.waitsFor) } ?? .none(isBehindOthers: isBehindOthers)
  }

  /// When enough slots and GPUs of the host are expected to be free, and the launches that have to end before. nil if
  /// that does not depend on launches alone.
  private func soonest(
    _ needs: Requirements, on state: HostState
  ) -> (due: Duration, waitsFor: [LaunchKey: Int])? {
    var slots = state.host.freeSlots
    let suitable = Set(needs.gpu.map { state.host.suitableGPUs(for: $0) } ?? [])
    var gpus = suitable.count { !state.host.usedGPUs.contains($0) }
    let wantedGPUs = needs.gpu?.count ?? 0
    var (due, waitsFor) = (Duration.zero, [LaunchKey: Int]())
    let running = state.launches.map { (key: $0.key, state: $0.value, rest: expectedRest(of: $0.value)) }
    for launch in running.sorted(by: { ($0.rest, $0.key) < ($1.rest, $1.key) }) {
      if slots >= needs.slots, gpus >= wantedGPUs { break }
      let held = launch.state.gpus.count { suitable.contains($0) }
      guard slots < needs.slots || held > 0 else { continue }
      let freed = definitions[launch.state.requirementClass.definition]?.requirements.slots ?? 1
      (slots, gpus, due) = (slots + freed, gpus + held, launch.rest)
      waitsFor[launch.key] = freed
    }
    return slots >= needs.slots && gpus >= wantedGPUs ? (due, waitsFor) : nil
  }
}

extension Obstacle {
  /// Whether the obstacle ends with launches, or with the connection of the worker.
  var mayClearSoon: Bool {
    [.slotsInUse, .gpusInUse, .givingWay, .reserved, .hostAway].contains(kind)
  }
}
