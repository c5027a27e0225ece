import BatonModel

/// One connection between a worker and the coordinator: in order, and complete until it breaks.
final class Link {
  let host: Int
  let workerLife: Int
  let coordinatorLife: Int
  /// What is on its way is lost, and so is all that follows.
  var isBroken = false
  var isClosedByWorker = false
  var isClosedByCoordinator = false
  fileprivate var lastUp = Instant(nanoseconds: 0)
  fileprivate var lastDown = Instant(nanoseconds: 0)
  /// Held up by a partition, in order.
  fileprivate var heldUp: [() throws -> Void] = []
  fileprivate var heldDown: [() throws -> Void] = []
  /// The coordinator's end.
  weak var session: Session?

  init(host: Int, workerLife: Int, coordinatorLife: Int) {
    self.host = host
    self.workerLife = workerLife
    self.coordinatorLife = coordinatorLife
  }

  /// What is held up holds on to the link.
  fileprivate func abandon() { (heldUp, heldDown) = ([], []) }

  var owner: Owner { .coordinator(life: coordinatorLife) }
  var workerOwner: Owner { .worker(host, life: workerLife) }
}

/// What lies between the processes.
final class Network {
  private var draws: [Draw]
  private var isUpCut: [Bool]
  private var isDownCut: [Bool]
  var isSlow: [Bool]
  /// Connections that will be accepted by something that forwards nothing.
  private var swallowed: [Int]
  private(set) var links: [Link] = []
  /// Those that are over, too.
  private var all: [Link] = []

  init(_ schedule: Schedule) {
    let count = schedule.hosts.count
    draws = (0..<count).map { Draw(seed: schedule.seed, stream: 1_000 + UInt64($0)) }
    isUpCut = Array(repeating: false, count: count)
    isDownCut = isUpCut
    isSlow = isUpCut
    swallowed = Array(repeating: 0, count: count)
  }

  func isCut(_ host: Int) -> Bool { isUpCut[host] || isDownCut[host] }

  func swallow(_ host: Int) { swallowed[host] += 1 }

  func swallowsNext(_ host: Int) -> Bool {
    guard swallowed[host] > 0 else { return false }
    swallowed[host] -= 1
    return true
  }

  func delay(_ host: Int) -> Duration {
    isSlow[host] ? draws[host].milliseconds(100...3_000) : .microseconds(draws[host].number(100...20_000))
  }

  func open(_ link: Link) {
    links.removeAll { $0.isBroken || ($0.isClosedByWorker && $0.isClosedByCoordinator) }
    links.append(link)
    all.append(link)
  }

  func abandon() { for link in all { link.abandon() } }

  /// Something goes to the coordinator: a message, or the news that the worker's end was closed.
  func sendUp(_ link: Link, in world: World, _ arrive: @escaping () throws -> Void) {
    link.lastUp = max(link.lastUp, world.now + delay(link.host))
    world.at(link.lastUp, for: link.owner) { [self] in
      if link.isBroken { return }
      if isUpCut[link.host] || !link.heldUp.isEmpty { return link.heldUp.append(arrive) }
      try arrive()
    }
  }

  func sendDown(_ link: Link, in world: World, _ arrive: @escaping () throws -> Void) {
    link.lastDown = max(link.lastDown, world.now + delay(link.host))
    world.at(link.lastDown, for: link.workerOwner) { [self] in
      if link.isBroken { return }
      if isDownCut[link.host] || !link.heldDown.isEmpty { return link.heldDown.append(arrive) }
      try arrive()
    }
  }

  func cut(_ host: Int, _ direction: Fault.Direction) {
    if direction != .down { isUpCut[host] = true }
    if direction != .up { isDownCut[host] = true }
  }

  /// What waited arrives, as it does when TCP sends again.
  func heal(_ host: Int, in world: World) {
    (isUpCut[host], isDownCut[host]) = (false, false)
    for link in links where link.host == host {
      world.at(world.now, for: link.owner) { try Self.release(&link.heldUp) }
      world.at(world.now, for: link.workerOwner) { try Self.release(&link.heldDown) }
    }
  }

  /// What arrives meanwhile waits behind it.
  private static func release(_ held: inout [() throws -> Void]) throws {
    let waiting = held
    held = []
    for arrive in waiting { try arrive() }
  }
}
