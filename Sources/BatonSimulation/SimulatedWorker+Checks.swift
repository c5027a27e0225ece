import BatonCore
import BatonModel

/// What a worker has to have noticed by itself, and what it has to have heard of.
extension SimulatedWorker {
  /// What the core has to have noticed by now.
  func checkLaunches() throws {
    let isLeased =
      switch core.lease {
      case .none: false
      case .asked: true
      case .held(let until, _, _): until > now
      }
    for key in core.launches.keys.sorted() {
      guard let index = core.launches.index(forKey: key) else { continue }
      // Looked at where they are: copies would be most of what this costs.
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
        // A command is killed at once, a handler with its process.
        let end = core.launches.values[index].definition.work == nil ? core.endsProcessAt : window.deadline
        try world.journal.expect(
          end.map { now - $0 < Self.longestOverrun } ?? false, .expiry, "\(key) is not stopped after its deadline")
      case .ended: break
      }
    }
  }

  private static let longestOverrun = Duration.milliseconds(200)

  var isHealthy: Bool {
    guard let link, isAlive, isWelcomed, !world.isStopped(owner), !link.isBroken, !link.isClosedByCoordinator,
      let coordinator = world.coordinator, coordinator.isReady, !world.isStopped(coordinator.owner)
    else { return false }
    return !world.network.isCut(number) && !world.network.isSlow[number] && !world.isStoreSlow
      && world.now >= world.settledAt
  }

  /// What a worker that hears everything does within three seconds.
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
