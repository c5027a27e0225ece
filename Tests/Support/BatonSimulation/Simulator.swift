import BatonModel
import BatonStore
import Synchronization

/// Runs schedules one after the other on one store in memory, which is emptied before each run. Only one thread may use
/// a simulator at a time.
package final class Simulator {
  private let store: SQLiteStore
  /// Verbs without a tenure, which empty the store and look into it. They are used on the connection of `store` alone.
  private var observer: Verbs?
  private weak var lastWorld: World?
  /// Whether the world of the last run is no longer in memory.
  package var isClean: Bool { lastWorld == nil }

  package init() throws { store = try SQLiteStore.inMemory(incarnation: "simulated", queuesSpans: true) }

  package struct Outcome: Sendable {
    package var violation: Violation?
    /// The hash of the whole trace, which is the same in every process; without tracing it is the same for all runs.
    package var hash: UInt64
    package var faults: Int
    package var batches: Int
    package var events: Int
    /// What happened, if it was counted.
    package var coverage: Coverage?
    /// The virtual time that the run took.
    package var duration: Duration
  }

  package enum Tracing: Sendable { case off, hash, print }

  /// Runs a schedule until every request has ended or a rule is broken.
  /// - Parameters:
  ///   - breakage: a bug that is planted in the simulated shells; `nil` for none.
  ///   - tracing: whether the trace is hashed, printed as well, or left out.
  ///   - counting: whether the outcome says how often each kind of thing happened.
  /// - Returns: the outcome, with the first violation that was found. An unexpected error is a violation of the rule
  ///   `crash`.
  package func run(
    _ schedule: Schedule, breakage: Breakage? = nil, tracing: Tracing = .off, counting: Bool = false
  ) -> Outcome {
    do {
      return try store.exclusively { verbs in
        let observer = observer ?? SQLiteStore.another(on: verbs, isShared: true)
        self.observer = observer
        let world = World(schedule, store: OpenStore(verbs: observer), breakage: breakage, trace: tracing.mode)
        if counting { world.coverage = Coverage() }
        return run(world)
      }
    } catch {
      preconditionFailure("the simulator's store could not be used: \(error)")
    }
  }

  private func run(_ world: World) -> Outcome {
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
      violation: violation, hash: world.trace.hash, faults: world.schedule.damageCount,
      batches: world.journal.batchCount, events: world.eventCount, coverage: world.coverage,
      duration: world.journal.now)
  }
}

extension Simulator {
  /// The simulators that no thread uses at the moment.
  package static let shared = Pool()

  package final class Pool: Sendable {
    /// `@unchecked` because a simulator is either in this list or with the one thread that has taken it.
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
