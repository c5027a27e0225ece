import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// What goes on by itself: dispatching, ending leases, watching the clock, keeping house.
extension Coordinator {
  /// Launches claimed in one transaction, at most.
  private static let claimLimit = 512

  func dispatchLoop() async throws {
    while !Task.isCancelled {
      await dispatchSignal.wait()
      while try await dispatchOnce() {}
    }
  }

  /// Starts what can be started now; false if nothing could.
  private func dispatchOnce() async throws -> Bool {
    try await learnDefinitions()
    let (reservations, histories) = state.withLock { state in
      let reservations = state.dispatcher.reserveReady(limit: Self.claimLimit)
      return (reservations, reservations.map { state.dispatcher.history(of: $0.requirementClass) })
    }
    guard !reservations.isEmpty else { return false }
    let claims = zip(reservations, histories).map { reservation, history in
      Claim(
        requirementClass: reservation.requirementClass, host: reservation.host, incarnation: reservation.incarnation,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: .randomSpanID()) },
        history: history)
    }
    let answers: [ClaimAnswer]
    do {
      answers = try await store.claim(claims, at: now().moment)
    } catch let error as StoreError {
      try await giveUp(reservations, because: error)
      return false
    }
    settle(reservations, answers)
    // A class that had nothing for a host held places there that another one may use.
    return zip(claims, answers).contains { claim, answer in
      !answer.assignments.isEmpty || (!claim.places.isEmpty && !answer.hasFitting)
    }
  }

  /// Classes of requests that were submitted before this coordinator started name definitions it has not seen yet.
  private func learnDefinitions() async throws {
    for id in state.withLock({ $0.dispatcher.unlearned }) {
      guard let definition = try await store.definition(id) else {
        preconditionFailure("a ready request names definition \(id.rawValue), which the store does not have")
      }
      state.withLock { $0.dispatcher.learn(id, definition) }
    }
  }

  private func settle(_ reservations: [Dispatcher.Reservation], _ answers: [ClaimAnswer]) {
    decide { state in
      zip(reservations, answers).flatMap { reservation, answer in
        state.nextDue.join(answer.nextDue)
        return state.dispatcher.settle(
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting)
      }
    }
    count(answers.flatMap(\.assignments))
    log(starts: answers.flatMap(\.assignments))
    for assignment in answers.flatMap(\.assignments) { watchers.changed(assignment.launch.request) }
  }

  /// The store did not take the claims. They are tried again at the next tick, unless it is broken for good.
  private func giveUp(_ reservations: [Dispatcher.Reservation], because error: StoreError) async throws {
    state.withLock { state in
      for reservation in reservations { state.dispatcher.giveUp(reservation) }
    }
    guard error.isPassing else { throw error }
    note(error, while: "starting launches")
  }

  func storeLoop() async throws {
    while let work = await storeWork.receive() {
      var expiries: [Expiring] = []
      for item in work {
        if case .noteExpiry(let expiring) = item {
          expiries.append(expiring)
          continue
        }
        try await note(expiries)
        expiries = []
        try await perform(item)
      }
      try await note(expiries)
    }
  }

  /// A whole fleet may be asked to stop at once: what is noted together is committed together.
  private func note(_ expiries: [Expiring]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for expiring in expiries {
        group.addTask { try await self.perform(.noteExpiry(expiring)) }
      }
      try await group.waitForAll()
    }
  }

  private func perform(_ work: StoreWork) async throws {
    switch work {
    case .endLease(let host, let incarnation, let countsAsLoss):
      // A worker that was stopped in order, or ended itself, is no reason to warn.
      logger.log(
        level: countsAsLoss ? .warning : .info, "the lease of a host ended",
        metadata: [Names.LogKey.host: "\(host)", "incarnation": "\(incarnation)"])
      try await perform(endOf: incarnation, on: host, countsAsLoss: countsAsLoss)
      dispatchSignal.raise()
    case .noteExpiry(let expiring):
      let subject = try await persistently {
        try await self.store.noteExpiry(
          expiring.launch, expiring.reason, from: expiring.process, at: self.now().moment)
      }
      if let subject { log(expiryOf: subject, expiring.reason) }
      watchers.changed(expiring.launch.request)
    case .note(let request, let event, let detail):
      try await persistently { try await self.store.note(event, detail: detail, of: request, at: self.now().moment) }
      watchers.changed(request)
    case .reports:
      let reports = state.withLock { state in
        defer { state.reports = [:] }
        return state.reports
      }
      try await persistently { try await self.store.noteReports(reports, at: self.now().moment) }
    case .uses:
      let uses = state.withLock { state in
        defer { state.uses = [:] }
        return state.uses
      }
      try await persistently { try await self.store.noteUses(uses) }
    }
  }

  /// Tries again while the store says that nothing was changed and that it may work later (a full disk).
  func persistently<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    while true {
      do {
        return try await body()
      } catch let error as StoreError where error.isPassing {
        note(error, while: "storing a change")
        try await clocks.sleep(.milliseconds(500))
      }
    }
  }

  /// How often the coordinator looks at the clock.
  private static let tickInterval = Duration.milliseconds(100)

  func timeLoop() async throws {
    while true {
      try await clocks.sleep(Self.tickInterval)
      let now = now()
      decide { $0.dispatcher.tick(at: now) }
      dispatchSignal.raise()
    }
  }

  /// How often a coordinator that has nothing to write looks whether the store is still its own.
  private static let tenureInterval = Duration.seconds(1)

  func tenureLoop() async throws {
    while true {
      try await clocks.sleep(Self.tenureInterval)
      do {
        try await store.demandTenure()
      } catch let error as StoreError where error.code != .superseded {
        note(error, while: "looking whose the store is")
      }
    }
  }

  /// Beside the ticks, which a slow disk must not delay.
  func promotionLoop() async throws {
    while true {
      try await clocks.sleep(Self.tickInterval)
      let now = now().moment
      if state.withLock({ $0.takeDue(at: now) }) { try await promote(at: now) }
    }
  }

  private func promote(at now: Moment) async throws {
    do {
      let promotion = try await store.promote(at: now, limit: 10_000)
      state.withLock { state in
        state.nextDue.join(promotion.nextDue)
        for requirementClass in promotion.classes.keys.sorted() { state.dispatcher.noteReady(requirementClass) }
      }
      dispatchSignal.raise()
    } catch let error as StoreError where error.isPassing {
      state.withLock { $0.nextDue.join(NextDue(steady: now.steady)) }
      note(error, while: "making requests ready whose time has come")
    }
  }

  /// How often the house is kept: this much of the steady clock may be lost if the machine dies.
  private static let housekeepingInterval = Duration.seconds(60)

  func housekeepingLoop() async throws {
    var keptPace: [IdentifierPattern: Duration] = [:]
    var isVerified = false
    while true {
      try await clocks.sleep(Self.housekeepingInterval)
      // Once, and not while workers come back to a coordinator that has just started.
      if !isVerified { try await store.verify() }
      isVerified = true
      do {
        try await saveClock()
        try await keepPace(&keptPace)
        try await dropOldSpans()
        while try await store.prune(settings.retention, at: now().moment) {
          try await clocks.sleep(.milliseconds(50))
        }
      } catch let error as StoreError where error.isPassing {
        note(error, while: "keeping house")
      }
    }
  }

  private func keepPace(_ kept: inout [IdentifierPattern: Duration]) async throws {
    let usual = state.withLock { $0.dispatcher.usualBatches }
    let news = usual.filter { kept[$0.key] != $0.value }
    guard !news.isEmpty else { return }
    try await store.notePace(news)
    kept = usual
  }
}

extension Coordinator.State {
  /// Forgets the next time if it has come; whoever forgets it asks the store for the one after.
  mutating func takeDue(at now: Moment) -> Bool {
    guard nextDue.hasCome(at: now) else { return false }
    nextDue = NextDue()
    return true
  }

  /// What the end of a launch changes besides the launch itself.
  mutating func note(_ answer: EndingAnswer) {
    dispatcher.ended(answer.launch)
    updates[answer.launch] = nil
    if answer.state == .ready { dispatcher.noteReady(answer.requirementClass) }
    // Ready at once or later: promotion finds out which, the class is only a hint.
    if let released = answer.released { dispatcher.noteReady(released) }
    nextDue.join(answer.nextDue)
  }
}

extension StoreError {
  /// This coordinator has to end at once: nobody knows what is stored until the store is opened again, or another one has
  /// it.
  var endsCoordinator: Bool { code == .unknown || code == .superseded }

  /// Nothing was changed, and the same call may succeed later.
  var isPassing: Bool {
    switch code {
    case .cannotWrite, .overloaded: true
    case .notFound, .refused, .newerVersion, .locked, .superseded, .unknown, .corrupt: false
    }
  }
}
