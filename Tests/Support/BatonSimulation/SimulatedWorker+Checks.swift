import BatonCore
import BatonModel

/// Checks of what a worker has to notice by itself, and of what it has to hear from the coordinator.
extension SimulatedWorker {
  /// Checks after a tick that the core has noticed every reason to stop a launch, and every deadline.
  func checkLaunches() throws {
    let isLeased =
      switch core.lease {
      case .none: false
      case .asked: true
      case .held(let until, _, _): until > now
      }
    for key in core.launches.keys.sorted() {
      guard let index = core.launches.index(forKey: key) else { continue }
      // The launches are read in place, because copies would be most of the cost of this check.
      switch core.launches.values[index].life {
      case .running:
        let launch = core.launches.values[index]
        let isSpent = launch.definition.budget.map { launch.startedAt + $0 <= now } ?? false
        let isForbidden = Policy.expiry(
          of: launch.definition, under: core.conditions, isSimulated: launch.assignment.isSimulated)
        try world.journal.expect(isLeased, .expiry, "\(key) goes on without a lease")
        try world.journal.expect(!isSpent, .expiry, "\(key) goes on after its budget")
        try world.journal.expect(isForbidden == nil, .expiry, "\(key) goes on, \(isForbidden?.code ?? "")")
        try world.journal.expect(!core.isDraining, .expiry, "\(key) goes on while its worker drains")
      case .closing(let window, _):
        try world.journal.expect(window.deadline > now, .expiry, "\(key) goes on after its deadline")
      case .overrun(let window, _):
        // A command is killed at its deadline, a Swift handler with its process.
        let end = core.launches.values[index].definition.work == nil ? core.endsProcessAt : window.deadline
        try world.journal.expect(
          end.map { now - $0 < Self.longestOverrun } ?? false, .expiry, "\(key) is not stopped after its deadline")
      case .ended: break
      }
    }
  }

  /// Checks that a launch that is asked to stop is asked for a reason that exists.
  func checkCause(of launch: LaunchKey, _ reason: ExpiryReason) throws {
    let isTrue: Bool
    switch reason.kind {
    case .budgetSpent:
      isTrue =
        core.launch(launch) { known in known.definition.budget.map { known.startedAt + $0 <= now } ?? false } ?? false
    case .batchTimedOut: isTrue = false
    case .cancelled: isTrue = world.journal.stopping.contains(launch.request)
    case .superseded: isTrue = world.journal.requests[launch.request]?.open != launch
    case .draining: isTrue = core.isDraining || world.journal.wasWished(off: plan.name)
    case .evicted, .paused: isTrue = world.journal.wasWished(off: plan.name)
    case .powerLost, .batteryLow, .lowPowerMode, .thermal, .networkLost, .hostBusy, .labelLost, .gpuLost,
      .pausedByOwner, .outsideHours:
      isTrue = core.conditions != plan.conditions
    case .laneLost:
      isTrue =
        world.journal.divisions[world.journal.requests[launch.request]?.head ?? launch.request]?
        .wasLowered == true
    case .stalled, .leaseLost, .allowanceSpent, .preempted, .simulated: isTrue = true
    }
    try world.journal.expect(isTrue, .cause, "\(launch) on \(plan.name) is asked to stop: \(reason.code)")
  }

  private static let longestOverrun = Duration.milliseconds(200)

  /// Whether nothing keeps this worker and the coordinator from hearing each other: both run, and the connection and
  /// the store are fast.
  var isHealthy: Bool {
    guard let link, isAlive, isWelcomed, !world.isStopped(owner), !link.isBroken, !link.isClosedByCoordinator,
      let coordinator = world.machines.lazy.compactMap(\.ready).first(where: { $0.life == link.coordinatorLife }),
      !world.isStopped(coordinator.owner), !coordinator.machine.isCutOff
    else { return false }
    return !world.network.isCut(number) && !world.network.isSlow[number] && !world.isStoreSlow
      && world.now >= world.settledAt
  }

  /// Checks what a worker achieves after it has been healthy for three seconds: it runs no launch that has to stop, and
  /// no handler waits for an answer longer than that.
  func watch() throws {
    guard isHealthy else {
      healthySince = nil
      return
    }
    let since = healthySince ?? world.now
    healthySince = since
    let ago = world.now + .seconds(-3)
    guard since <= ago else { return }
    for (key, launch) in core.launches.sorted(by: { $0.key < $1.key }) where launch.isRunning {
      try world.journal.checkStillWanted(key, since: .nanoseconds(ago.nanoseconds))
    }
    for (launch, handler) in handlers.sorted(by: { $0.key < $1.key }) {
      try world.journal.expect(
        handler.askedAt.map { $0 > ago } ?? true, .message, "\(launch) waits for an answer that does not come")
    }
  }
}
