import BatonCoordinator
import BatonModel

/// The coordinator's end of one connection. The first message has to be the hello. The session passes every message to
/// `CoordinatorCore`, in the order in which the messages came.
final class Session {
  let link: Link
  private let coordinator: SimulatedCoordinator
  /// The id of the session in the core; `nil` before the hello.
  private var id: SessionID?
  /// Whether the worker's direction is closed, so that no more messages come.
  private var isUpClosed = false

  private var world: World { coordinator.world }

  init(_ link: Link, _ coordinator: SimulatedCoordinator) {
    self.link = link
    self.coordinator = coordinator
  }

  func send(_ message: CoordinatorMessage) {
    guard !link.isClosedByCoordinator else { return }
    notice(message)
    let name = coordinator.name
    world.network.sendDown(link, in: world) { [world, link] in
      world.note("\(name) to \(world.schedule.hosts[link.host].name): \(message.line)")
      world.count(.message, "to worker: \(World.name(of: message))")
      try world.workers[link.host].received(message, on: link)
    }
  }

  /// Closes both directions. Messages that were sent before still arrive, on either side.
  func close() throws {
    if !link.isClosedByCoordinator {
      link.isClosedByCoordinator = true
      world.network.sendDown(link, in: world) { [world, link] in try world.workers[link.host].closed(link) }
    }
    try upClosed()
  }

  func upClosed() throws {
    guard !isUpClosed else { return }
    isUpClosed = true
    guard let id else { return }
    // The core is told in an event of its own, because this call may come from an effect of the core.
    world.after(.microseconds(10), for: coordinator.owner) { [coordinator] in
      try coordinator.tell { $0.closed(id, at: coordinator.now()) }
    }
  }

  func received(_ message: WorkerMessage) throws {
    guard !isUpClosed else { return }
    world.note("\(world.schedule.hosts[link.host].name) to \(coordinator.name): \(message.line)")
    world.count(.message, "to coordinator: \(World.name(of: message))")
    if let id {
      return try coordinator.tell { $0.received([message], from: id, at: coordinator.now()) }
    }
    guard case .hello(let hello) = message else {
      throw world.journal.violation(.message, "the first message of a connection is \(message.line)")
    }
    let id = coordinator.open(self)
    self.id = id
    let proof = coordinator.proof(of: hello)
    try coordinator.tell { $0.hello(hello, proof, from: "\(hello.host)", as: id, at: coordinator.now()) }
  }

  /// Records when the lease of the host was last renewed, for the check of leases.
  private func notice(_ message: CoordinatorMessage) {
    guard case .heartbeatAnswered = message else { return }
    coordinator.machine.heard[world.schedule.hosts[link.host].name] = world.now
  }
}
