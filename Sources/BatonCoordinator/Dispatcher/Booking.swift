import BatonModel

/// A reservation of an operator's page: room on one host that is kept for the first request of a class, because it has
/// waited long. In the code it is a booking, because a `Reservation` is a place that the store is asked to fill.
///
/// The booking waits for some of the launches on the host (`waitsFor`). What is free there and what these launches hold
/// is together at least what the request needs. That stays true for as long as the booking lasts: when one of them
/// ends, its slots are free; and a request that comes after the class in the order of turns may take nothing of it,
/// unless it is expected to have ended before the booking is due. A launch that takes something of it all the same (of
/// a higher priority, or one that is expected to be short) joins those for which the booking waits.
///
/// # Why no request waits for ever
///
/// Take a request that could run on some host if its slots or GPUs came free, with launches that end.
///
/// 1. *It comes first in its class.* Within a class the oldest request starts first. A request of a class that is
///    started although it is not the first one shows that the first may not run on that host (an eviction, a
///    principal), and this class does not book that host again for ten minutes.
/// 2. *Its class comes first in the order of turns.* Its priority rises with the wait (`ageAfter`), so in the end no
///    class has a higher one. Among equals the class that was served longest ago is first, and it is served by nothing
///    but the start of its first request. New classes come behind it. Recent use of others counts for ten minutes only,
///    and not at all against a class with a booking.
/// 3. *It gets a booking.* Bookings are made in the order of turns. A class that is looked at in vain because all its
///    hosts are booked is looked at again, before those behind it, when a booking ends. Each of these ends, by 4.
/// 4. *The booking ends with its start.* After the booking is due, nothing that comes later takes anything of it, not
///    even a `refresh`; before that, only launches that are expected to end before, and the due time never becomes
///    later. So the launches for which it waits do not grow in number after that, and when they have ended, the request
///    has its place. If they take longer than expected, or the host leaves, drains or changes, the booking is given up
///    after a patience, or at once, and another one is made. The patience doubles with each booking, so in the end it
///    is longer than the launches take, and no request is sent from host to host for ever.
///
/// With namespaces, the classes of the namespace that was served least come before all that the second step says. Each
/// start is use of its namespace, and the use of a namespace that waits decays to nothing, so its turn comes. A class
/// with a booking goes before those of all namespaces, so the fourth step is as it is. Where a quota of the namespace
/// is in the way, the namespace saves it for the class before the third step (`keepSavings`).
///
/// A higher priority may always take what is reserved. So without `ageAfter` a stream of requests of a higher priority
/// keeps a request waiting for as long as it lasts.
struct Booking: Hashable, Sendable {
  var requirementClass: RequirementClass
  var pattern: IdentifierPattern
  var slots: Int
  var gpu: GPURequirement?
  /// The turn in which the class had been served last when it booked. A claim that the store does not answer moves the
  /// class back in the order of turns, and not its booking.
  var servedAt: Int
  /// The first request of the class when it booked.
  var first: Dispatcher.ReadyClass.First
  /// When the room is expected, on the steady clock. It never becomes later.
  var dueAt: Timestamp
  /// When the booking is given up, on the steady clock.
  var endsAt: Timestamp
  /// The launches whose end it waits for, with their slots.
  var waitsFor: [LaunchKey: Int] = [:]

  /// The most bookings that one coordinator keeps.
  static let limit = 64
  /// A booking is kept for at least as long after it is due.
  static let leastPatience = Duration.seconds(60)
  /// For how long a host is not booked again for a class whose first request may not run there.
  static let vetoLasts = Duration.seconds(600)
}

extension Dispatcher {
  /// What a class tells a host of which it wants a place.
  struct Asker {
    /// nil if the class is not known.
    var requirementClass: RequirementClass?
    var turn: Turn
    var kind: JobKind
    /// When a launch that starts now is expected to end, on the steady clock.
    var endsAt: Timestamp
    var now: Timestamp
    /// The turn of the class that has booked the host, if it has.
    var booker: Turn?
  }

  /// What a class, or a request of a definition, tells the host.
  /// - Parameter priority: counts if the class is not known.
  func asker(
    _ requirementClass: RequirementClass?, _ definition: Definition, _ priority: Priority?, on state: HostState
  ) -> Asker? {
    guard let booking = state.booking else { return nil }
    let priority = priority ?? definition.priority
    let stranger = Turn(
      requirementClass ?? RequirementClass(definition: DefinitionID(.max), priority: priority),
      namespaceUse: ledger.share(of: rules.namespaces.prefix(of: definition.pattern), at: now.steady),
      hasRecentUse: Policy.hasRecentUse(lastUses[definition.pattern], at: now.steady), servedAt: turn, since: now.steady
    )
    return Asker(
      requirementClass: requirementClass, turn: requirementClass.map { turn(of: $0) } ?? stranger,
      kind: definition.kind,
      endsAt: now.steady + expectedDuration(of: definition), now: now.steady, booker: turn(of: booking))
  }

  /// The turn of the class that has booked, as it stood then.
  func turn(of booking: Booking) -> Turn {
    var turn = turn(of: booking.requirementClass)
    turn.servedAt = booking.servedAt
    turn.hasReservation = true
    // No other namespace goes before it: what the class waits for would be taken again and again.
    if !rules.namespaces.isEmpty { turn.namespaceUse = -1 }
    return turn
  }
}

extension HostState {
  /// The obstacle that another class has booked what the launch would take; nil if it may start as far as the booking
  /// of this host is concerned.
  func obstacle(of asker: Dispatcher.Asker?, for needs: Requirements) -> Obstacle? {
    guard let asker, let booking, let booker = asker.booker, asker.requirementClass != booking.requirementClass,
      booker < asker.turn, !keepsRoom(for: booking, after: needs)
    else { return nil }
    if asker.now < booking.dueAt, asker.kind == .refresh || asker.endsAt <= booking.dueAt { return nil }
    return .reserved(for: booking.pattern, until: booking.dueAt)
  }

  /// Whether what is free, without what a launch with these needs takes, and what the booking waits for is enough for
  /// it.
  func keepsRoom(for booking: Booking, after needs: Requirements? = nil) -> Bool {
    let waited = booking.waitsFor.values.reduce(0, +)
    guard host.freeSlots - (needs?.slots ?? 0) + waited >= booking.slots else { return false }
    guard let gpu = booking.gpu else { return true }
    let taken = needs?.gpu.map { host.bestGPUs(for: $0) } ?? []
    let freed = Set(booking.waitsFor.keys.flatMap { launches[$0]?.gpus ?? [] })
    let usable = host.suitableGPUs(for: gpu).count { index in
      freed.contains(index) || !host.usedGPUs.contains(index) && !taken.contains(index)
    }
    return usable >= gpu.count
  }

  /// Notes that a launch has started here. If it took something of what is booked, the booking waits for it too.
  mutating func noteForBooking(_ launch: LaunchKey, slots: Int) {
    guard let booking, launches[launch]?.requirementClass != booking.requirementClass, !keepsRoom(for: booking) else {
      return
    }
    self.booking?.waitsFor[launch] = slots
  }
}
