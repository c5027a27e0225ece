import BatonModel
import BatonStore
import Synchronization

/// Runs schedules, one after the other, on one store that is emptied in between.
package final class Simulator {
  private let store: SQLiteStore
  private weak var lastWorld: World?
  /// Nothing of the last fleet is in memory any more.
  package var isClean: Bool { lastWorld == nil }

  package init() throws { store = try SQLiteStore.inMemory(incarnation: "simulated", queuesSpans: true) }

  package struct Outcome: Sendable {
    package var violation: Violation?
    /// Of the whole trace; the same in every process.
    package var hash: UInt64
    package var faults: Int
    package var batches: Int
    package var events: Int
    /// Virtual.
    package var duration: Duration
  }

  package enum Tracing: Sendable { case off, hash, print }

  package func run(
    _ schedule: Schedule, breakage: Breakage? = nil, tracing: Tracing = .off
  ) -> Outcome {
    do {
      return try store.exclusively { run(schedule, OpenStore(verbs: $0), breakage, tracing) }
    } catch {
      preconditionFailure("the simulator's store could not be used: \(error)")
    }
  }

  private func run(
    _ schedule: Schedule, _ store: OpenStore, _ breakage: Breakage?, _ tracing: Tracing
  ) -> Outcome {
    let world = World(schedule, store: store, breakage: breakage, trace: tracing.mode)
    lastWorld = world
    var violation: Violation?
    do {
      try world.run()
    } catch let found as Violation {
      violation = found
    } catch {
      violation = world.journal.violation(.crash, "\(error)")
    }
    if let violation { world.note("violation: \(violation)") }
    return Outcome(
      violation: violation, hash: world.trace.hash, faults: schedule.damageCount,
      batches: world.journal.batchCount, events: world.eventCount, duration: world.journal.now)
  }
}

extension Simulator {
  /// Simulators that are free: each is used by one thread at a time.
  package static let shared = Pool()

  package final class Pool: Sendable {
    /// Only one thread has a simulator that was taken.
    private struct Free: @unchecked Sendable { var simulators: [Simulator] = [] }
    private let free = Mutex(Free())

    package func take() throws -> sending Simulator {
      if let known = free.withLock({ $0.simulators.popLast() }) { return known }
      return try Simulator()
    }

    package func give(_ simulator: Simulator) { free.withLock { $0.simulators.append(simulator) } }
  }
}

extension Simulator.Tracing {
  fileprivate var mode: Trace.Mode {
    switch self {
    case .off: .off
    case .hash: .hash
    case .print: .print
    }
  }
}
