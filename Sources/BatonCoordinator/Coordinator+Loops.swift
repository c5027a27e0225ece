import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// What goes on by itself: looking at the clock, dispatching, keeping house.
extension Coordinator {
  func dispatchLoop() async throws {
    while !Task.isCancelled {
      await dispatchSignal.wait()
      decide { $0.core.dispatch(Array.randomSpanID) }
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
      decide { $0.core.tick(at: now) }
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
    let usual = state.withLock { $0.core.dispatcher.usualBatches }
    let news = usual.filter { kept[$0.key] != $0.value }
    guard !news.isEmpty else { return }
    try await store.notePace(news)
    kept = usual
  }
}
