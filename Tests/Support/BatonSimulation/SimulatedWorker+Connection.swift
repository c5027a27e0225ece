import BatonCoordinator
import BatonCore
import BatonModel

/// The connections of a worker: it opens one after the other, and sends and takes messages on the present one.
extension SimulatedWorker {
  func connect() {
    connectsAt = now
    world.after(world.network.delay(number), for: owner) { [self] in
      guard let coordinator = world.machines[address].ready, !world.isStopped(coordinator.owner),
        !world.network.isCut(number)
      else { return connectAgain() }
      isWelcomed = false
      let link = Link(host: number, workerLife: life, coordinatorLife: coordinator.life)
      let session = Session(link, coordinator)
      world.network.open(link)
      link.isBroken = world.network.swallowsNext(number)
      self.link = link
      for case .send(let message) in core.connected(at: now) { send(message, on: link, to: session) }
    }
  }

  private func connectAgain() {
    address = (address + 1) % world.machines.count
    let pause = core.pauseBeforeConnecting(afterConnectionOf: now - connectsAt, using: &draw)
    world.after(pause, for: owner) { [self] in connect() }
  }

  func send(_ message: WorkerMessage, on link: Link, to session: Session? = nil) {
    guard !link.isClosedByWorker else { return }
    let session = session ?? link.session
    link.session = session
    let isHello = if case .hello = message { true } else { false }
    world.network.sendUp(link, in: world, isRepeatable: !isHello) { try session?.received(message) }
  }

  func closeLink(_ link: Link) {
    guard !link.isClosedByWorker else { return }
    link.isClosedByWorker = true
    let session = link.session
    world.network.sendUp(link, in: world, isRepeatable: false) { try session?.upClosed() }
  }

  /// The connection has ended, because of either side or the network. The worker connects again after a pause.
  func closed(_ link: Link) throws {
    guard self.link === link else { return }
    closeLink(link)
    self.link = nil
    connectAgain()
  }

  func received(_ message: CoordinatorMessage, on link: Link) throws {
    guard self.link === link else { return }
    let isWelcome = if case .welcome = message { true } else { false }
    if isWelcome {
      isWelcomed = true
      vanishAtWelcome()
    }
    let forgets = world.breakage == .forgetsToResend && isWelcome
    try decide { core in
      core.received(message, at: now).filter { if case .send = $0 { !forgets } else { true } }
    }
  }

  /// Cuts off 5 % of the hosts that have just got a lease, for longer than the lease. The worker has to know when its
  /// lease ends.
  private func vanishAtWelcome() {
    guard !world.isCalm, draw.chance(5) else { return }
    world.network.cut(number, .both)
    world.after(world.schedule.leaseTerm * 3 / 2, for: .world) { [self] in world.network.heal(number, in: world) }
  }
}
