import BatonModel

/// One connection between a worker and the coordinator. Messages arrive in order, and all of them arrive until the
/// connection breaks.
final class Link {
  let host: Int
  let workerLife: Int
  let coordinatorLife: Int
  /// Messages on their way and all later messages are lost.
  var isBroken = false
  var isClosedByWorker = false
  var isClosedByCoordinator = false
  fileprivate var lastUp = Instant(nanoseconds: 0)
  fileprivate var lastDown = Instant(nanoseconds: 0)
  /// Messages to the coordinator that a partition holds up, in order. `heldDown` has the messages to the worker.
  fileprivate var heldUp: [() throws -> Void] = []
  fileprivate var heldDown: [() throws -> Void] = []
  /// The coordinator's end of the connection.
  weak var session: Session?

  init(host: Int, workerLife: Int, coordinatorLife: Int) {
    self.host = host
    self.workerLife = workerLife
    self.coordinatorLife = coordinatorLife
  }

  /// Drops the messages that are held up. Their closures keep the link in memory.
  fileprivate func abandon() { (heldUp, heldDown) = ([], []) }

  var owner: Owner { .coordinator(life: coordinatorLife) }
  var workerOwner: Owner { .worker(host, life: workerLife) }
}

/// The network between the workers and the coordinator: delays, partitions and broken connections, by host.
final class Network {
  private var draws: [Draw]
  private var isUpCut: [Bool]
  private var isDownCut: [Bool]
  /// Whether each host's messages take 100 ms to 3 s, and not 0.1 ms to 20 ms.
  var isSlow: [Bool]
  /// Whether some of each host's messages arrive twice.
  var isRepeating: [Bool]
  /// How many of the next connections of each host are accepted by something that forwards nothing.
  private var swallowed: [Int]
  private(set) var links: [Link] = []
  /// Every link that was opened, also the links that are closed.
  private var all: [Link] = []

  init(_ schedule: Schedule) {
    let count = schedule.hosts.count
    draws = (0..<count).map { Draw(seed: schedule.seed, stream: 1_000 + UInt64($0)) }
    isUpCut = Array(repeating: false, count: count)
    isDownCut = isUpCut
    (isSlow, isRepeating) = (isUpCut, isUpCut)
    swallowed = Array(repeating: 0, count: count)
  }

  func isCut(_ host: Int) -> Bool { isUpCut[host] || isDownCut[host] }

  func swallow(_ host: Int) { swallowed[host] += 1 }

  /// Whether the next connection of the host leads nowhere. The call uses up one such connection.
  func swallowsNext(_ host: Int) -> Bool {
    guard swallowed[host] > 0 else { return false }
    swallowed[host] -= 1
    return true
  }

  /// Draws the time that one message of the host takes.
  func delay(_ host: Int) -> Duration {
    isSlow[host] ? draws[host].milliseconds(100...3_000) : .microseconds(draws[host].number(100...20_000))
  }

  func open(_ link: Link) {
    links.removeAll { $0.isBroken || ($0.isClosedByWorker && $0.isClosedByCoordinator) }
    links.append(link)
    all.append(link)
  }

  func abandon() { for link in all { link.abandon() } }

  /// How often the next message of the host arrives: twice for 20 % of the messages while they are repeated.
  private func copies(_ host: Int) -> Int { isRepeating[host] && draws[host].chance(20) ? 2 : 1 }

  /// Sends a message to the coordinator, or the news that the worker closed its end. The hello and that news come once.
  func sendUp(_ link: Link, in world: World, isRepeatable: Bool = true, _ arrive: @escaping () throws -> Void) {
    for _ in 0..<(isRepeatable ? copies(link.host) : 1) { sendUpOnce(link, in: world, arrive) }
  }

  private func sendUpOnce(_ link: Link, in world: World, _ arrive: @escaping () throws -> Void) {
    link.lastUp = max(link.lastUp, world.now + delay(link.host))
    world.at(link.lastUp, for: link.owner) { [self] in
      if link.isBroken { return }
      if isUpCut[link.host] || !link.heldUp.isEmpty { return link.heldUp.append(arrive) }
      try arrive()
    }
  }

  func sendDown(_ link: Link, in world: World, _ arrive: @escaping () throws -> Void) {
    for _ in 0..<copies(link.host) { sendDownOnce(link, in: world, arrive) }
  }

  private func sendDownOnce(_ link: Link, in world: World, _ arrive: @escaping () throws -> Void) {
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

  /// Ends the partition of a host. The messages that it held up arrive, as when TCP sends them again.
  func heal(_ host: Int, in world: World) {
    (isUpCut[host], isDownCut[host]) = (false, false)
    for link in links where link.host == host {
      world.at(world.now, for: link.owner) { try Self.release(&link.heldUp) }
      world.at(world.now, for: link.workerOwner) { try Self.release(&link.heldDown) }
    }
  }

  /// Delivers the messages that were held up. A message that arrives while it runs is queued behind them.
  private static func release(_ held: inout [() throws -> Void]) throws {
    let waiting = held
    held = []
    for arrive in waiting { try arrive() }
  }
}
