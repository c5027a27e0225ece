import BatonCoordinator
import BatonModel

/// A machine on which coordinators run, one process after the other, with its own clocks and its own way to the store.
final class Machine {
  /// From 0.
  let number: Int
  var clocks = WallClock()
  var coordinator: SimulatedCoordinator?
  /// Where the coordinator dies next, if it is to die; `crashPlan` has what follows.
  var crash: Fault.CrashPoint?
  var crashPlan: (downFor: Duration, reboots: Bool)?
  /// Whether the coordinator cannot reach the store.
  var isCutOff = false
  /// When the coordinator last heard of each host's worker.
  var heard: [HostName: Instant] = [:]
  /// When the present coordinator has started.
  var restoredAt = Instant(nanoseconds: 0)
  /// When a stopped coordinator went on last.
  var wentOnAt = Instant(nanoseconds: 0)

  init(_ number: Int) {
    self.number = number
    // The monotonic clocks and the boots of two machines have nothing in common.
    clocks.boot = number * 1_000
    clocks.instantOffset = .seconds(1_000 + number * 500_000)
  }

  /// The coordinator, if it has started and read the store.
  var ready: SimulatedCoordinator? { coordinator?.isReady == true ? coordinator : nil }
}

extension World {
  /// Every coordinator that has started and read the store.
  var ready: [SimulatedCoordinator] { machines.compactMap(\.ready) }

  /// One of the coordinators that are ready; `nil` if there is none.
  func anyCoordinator() -> SimulatedCoordinator? {
    let ready = ready
    return ready.count > 1 ? draw.one(of: ready) : ready.first
  }

  /// One of the machines.
  func anyMachine() -> Machine { machines.count > 1 ? draw.one(of: machines) : machines[0] }

  /// The ready coordinator that owns the lease of the host; without such one, any that is ready.
  func coordinator(of host: HostName) -> SimulatedCoordinator? {
    ready.first { $0.dispatcher.hosts[host]?.ownLease != nil } ?? ready.first
  }

  var isShared: Bool { schedule.coordinators > 1 }
}
