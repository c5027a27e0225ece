import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// The coordinator's periodic work: it advances time, dispatches launches and does the housekeeping of the store.
extension Coordinator {
  /// Calls the core's `dispatch` each time the core asks for it.
  func dispatchLoop() async throws {
    while !Task.isCancelled {
      await dispatchSignal.wait()
      decide { $0.core.dispatch(SpanID.random) }
    }
  }

  /// Runs `body`, and repeats it every 500 ms while the store fails with a passing error (a full disk).
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

  /// How often the coordinator calls the core's `tick`.
  static let tickInterval = Duration.milliseconds(100)

  func timeLoop() async throws {
    while true {
      try await clocks.sleep(Self.tickInterval)
      let now = now()
      decide { $0.core.tick(at: now) }
    }
  }

  /// How often a coordinator that has nothing to write checks that it still owns the store.
  private static let tenureInterval = Duration.seconds(1)

  /// Checks periodically that this coordinator still owns the store. It throws when another coordinator owns it.
  func tenureLoop() async throws {
    while true {
      try await clocks.sleep(Self.tenureInterval)
      do {
        try await store.beat(nil)
      } catch let error as StoreError where error.code != .superseded {
        note(error, while: "looking whose the store is")
      }
    }
  }

  /// How often the coordinator tries whether the store's disk has room. Clients of `/readyz` learn of a full disk
  /// within this time, also if nothing is written.
  private static let roomInterval = Duration.seconds(10)

  /// Notices a full disk when nothing is written, and that there is room again. A coordinator that ends on a full disk
  /// ends at a write that has no room, and not before.
  func roomLoop() async throws {
    while true {
      try await clocks.sleep(Self.roomInterval)
      if !settings.endsOnFullDisk { await lookForRoom() }
    }
  }

  /// Tries once whether the store's disk has room.
  func lookForRoom() async {
    do {
      if try await store.demandRoom() { noteWritable() }
    } catch let error as StoreError where error.code == .cannotWrite {
      note(error, while: "looking whether the store can be written")
    } catch {
      // Errors of other kinds come back at the next read or write, which tells them.
    }
  }

  /// Hears each second of the certificates and credentials that other coordinators have given out or revoked.
  func identityLoop(_ identities: HostIdentities) async throws {
    var known: [Int64] = []
    while true {
      try await clocks.sleep(Self.tenureInterval)
      do {
        let mark = try await store.identityMark()
        guard mark != known else { continue }
        try identities.hear(try await store.certificates())
        try identities.credentials.hear(try await store.credentials())
        known = mark
      } catch let error as StoreError where !error.endsCoordinator {
        note(error, while: "hearing of certificates and credentials")
      } catch let error as IdentityError {
        // A revocation counts here, but may not outlive an older copy of the store. It is tried again.
        logger.error("a revocation of another coordinator cannot be made durable here: \(error)")
      }
    }
  }

  /// Stores each second what running launches have reported since their last checkpoints, so that operators who ask
  /// another coordinator see it. At most `updatesAtOnce` launches are written in a second; the others follow.
  func updateLoop() async throws {
    while true {
      try await clocks.sleep(Self.tenureInterval)
      let updates = state.withLock { $0.core.takeUntoldUpdates(Self.updatesAtOnce) }
      if updates.isEmpty { continue }
      do {
        try await store.noteUpdates(updates)
      } catch let error as StoreError where !error.endsCoordinator {
        // They are only for people to see, so an overloaded store need not take them now.
        state.withLock { $0.core.keepUntold(updates) }
      }
    }
  }

  private static let updatesAtOnce = 256

  /// Keeps where this coordinator serves, so that operators learn it from any coordinator.
  func announce(_ place: CoordinatorPlace) async throws {
    do {
      try await persistently { try await store.serve(at: place) }
    } catch let error as StoreError {
      note(error, while: "storing where this coordinator listens")
    }
  }

  /// How often housekeeping runs. If the machine dies, the steady clock loses at most this much time.
  private static let housekeepingInterval = Duration.seconds(60)

  /// Verifies the store once, and periodically saves the steady clock and the usual times of batches, drops old spans
  /// and prunes old requests.
  func housekeepingLoop() async throws {
    var keptPace: [IdentifierPattern: Duration] = [:]
    var isVerified = false
    while true {
      try await clocks.sleep(Self.housekeepingInterval)
      // The steward keeps house for all coordinators of the store.
      guard state.withLock({ $0.core.isSteward }) else { continue }
      // The store is verified once, and not at the start, when workers reconnect to the coordinator.
      if !isVerified { try await store.verify() }
      isVerified = true
      do {
        try await saveClock()
        try await keepPace(&keptPace)
        try await dropOldSpans()
        try await moveOldAudit()
        while try await store.prune(settings.retention, at: now().moment) {
          try await clocks.sleep(.milliseconds(50))
        }
        try await forgetOld()
      } catch let error as StoreError where error.code == .moved {
        continue
      } catch let error as StoreError where error.isPassing {
        note(error, while: "keeping house")
      }
    }
  }

  /// Forgets hosts that have been gone for long, and old changes of conditions.
  private func forgetOld() async throws {
    while true {
      let forgotten = try await store.forgetOld(settings.retention, at: now().moment)
      forgot(forgotten.hosts, forgotten.transfers)
      if !forgotten.hosts.isEmpty {
        logger.notice("hosts that were gone for long are forgotten", metadata: ["hosts": "\(forgotten.hosts.count)"])
      }
      if !forgotten.hasMore { return }
      try await clocks.sleep(.milliseconds(50))
    }
  }

  /// Stores the usual batch durations that have changed since `kept`.
  private func keepPace(_ kept: inout [IdentifierPattern: Duration]) async throws {
    let usual = state.withLock { $0.core.dispatcher.usualBatches }
    let news = usual.filter { kept[$0.key] != $0.value }
    guard !news.isEmpty else { return }
    try await store.notePace(news)
    kept = usual
  }
}
