package import BatonModel

/// Decides which connections a listener keeps. Connections of clients that showed no token cannot take the descriptors
/// that the others need, and cannot keep the others out.
///
/// A connection is open until its deadline, unless something is served over it before. At a limit a new connection takes
/// the place of the oldest that showed no token, rather than being refused: a client shows its token within milliseconds,
/// so a program that opens connections and is silent drives out its own. The owner's connections never give way.
package struct Admission: Sendable {
  package struct Limits: Hashable, Sendable {
    /// Connections in all.
    package var connections: Int
    /// Further ones for connections through a Unix socket, which only the coordinator's user and root can open.
    package var reservedForOwner: Int
    /// Those over which no token was shown.
    package var unproven: Int
    /// The same of one address. Clients that come through ssh tunnels all have the address 127.0.0.1.
    package var unprovenPerAddress: Int
    /// From the accepted connection to the first call that is served.
    package var patience: Duration

    package init(
      connections: Int, reservedForOwner: Int = 0, unproven: Int, unprovenPerAddress: Int,
      patience: Duration
    ) {
      (self.connections, self.reservedForOwner) = (connections, reservedForOwner)
      (self.unproven, self.unprovenPerAddress, self.patience) = (unproven, unprovenPerAddress, patience)
    }
  }

  /// Names a connection for as long as the process lives.
  package typealias ID = UInt64

  /// Where a connection comes from.
  package enum Origin: Hashable, Sendable {
    /// A Unix socket: its folder admits only the coordinator's user and root.
    case owner
    case address(String)
  }

  package enum Verdict: Hashable, Sendable {
    case admit
    /// Another connection, which showed no token, has to be closed.
    case admitInPlaceOf(ID)
    case refuse
  }

  private enum Standing {
    /// Nothing was served yet.
    case waiting(since: Instant)
    /// Something was that needs no token, such as /healthz.
    case served
    /// The token was shown.
    case proven
  }

  private struct Entry {
    var origin: Origin
    var standing: Standing
    var code: [UInt8]?

    var isUnproven: Bool {
      guard case .address = origin else { return false }
      switch standing {
      case .waiting, .served: return true
      case .proven: return false
      }
    }
  }

  package let limits: Limits
  private var entries: [ID: Entry] = [:]
  private var arrivals = Arrivals()
  private var arrivalsByAddress: [String: Arrivals] = [:]
  /// Connections that were closed or refused since this was told last.
  private var turnedAway = 0
  private var toldAt: Instant?

  package init(_ limits: Limits) { self.limits = limits }

  package var count: Int { entries.count }
  package var unprovenCount: Int { arrivals.living }

  // MARK: Facts

  /// A connection was accepted.
  package mutating func opened(_ id: ID, from origin: Origin, at now: Instant) -> Verdict {
    let victim: ID?
    let isFull: Bool
    switch origin {
    case .owner:
      isFull = count >= limits.connections + limits.reservedForOwner
      victim = isFull ? arrivals.oldest : nil
    case .address(let address):
      isFull = count >= limits.connections
      victim =
        if arrivalsByAddress[address]?.living ?? 0 >= limits.unprovenPerAddress {
          arrivalsByAddress[address]?.oldest
        } else if arrivals.living >= limits.unproven || isFull {
          arrivals.oldest
        } else {
          nil
        }
    }
    if victim == nil, isFull { return turnAway() }
    if let victim {
      remove(victim)
      turnedAway += 1
    }
    add(id, Entry(origin: origin, standing: .waiting(since: now)))
    return victim.map { .admitInPlaceOf($0) } ?? .admit
  }

  private mutating func turnAway() -> Verdict {
    turnedAway += 1
    return .refuse
  }

  /// The connection was given `code`: a client that knows the token answers it.
  package mutating func challenged(_ id: ID, expecting code: [UInt8]) { entries[id]?.code = code }

  /// What the client of this connection has to answer; nil if it was not asked.
  package func expectedCode(_ id: ID) -> [UInt8]? { entries[id]?.code }

  /// Something was served over the connection that needs no token.
  package mutating func served(_ id: ID) {
    guard case .waiting = entries[id]?.standing else { return }
    entries[id]?.standing = .served
  }

  /// The token was shown.
  package mutating func proven(_ id: ID) {
    guard let entry = entries[id], entry.isUnproven else { return }
    forgetArrival(id, entry)
    entries[id]?.standing = .proven
  }

  /// Whether the connection has waited for so long that it is to be closed; it is forgotten then.
  package mutating func isOverdue(_ id: ID, at now: Instant) -> Bool {
    guard let entry = entries[id], entry.isUnproven, case .waiting(let since) = entry.standing,
      now - since >= limits.patience
    else { return false }
    remove(id)
    turnedAway += 1
    return true
  }

  package mutating func closed(_ id: ID) { remove(id) }

  /// How many connections were turned away since the last answer: told once a minute, and nil where there were none.
  package mutating func report(at now: Instant) -> Int? {
    guard turnedAway > 0, toldAt.map({ now - $0 >= Self.reportInterval }) ?? true else { return nil }
    defer { (turnedAway, toldAt) = (0, now) }
    return turnedAway
  }

  package static let reportInterval = Duration.seconds(60)

  // MARK: Entries

  private mutating func add(_ id: ID, _ entry: Entry) {
    entries[id] = entry
    guard case .address(let address) = entry.origin else { return }
    arrivals.add(id)
    arrivalsByAddress[address, default: Arrivals()].add(id)
  }

  private mutating func remove(_ id: ID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    if entry.isUnproven { forgetArrival(id, entry) }
  }

  private mutating func forgetArrival(_ id: ID, _ entry: Entry) {
    guard case .address(let address) = entry.origin else { return }
    arrivals.remove(id)
    arrivalsByAddress[address]?.remove(id)
    if arrivalsByAddress[address]?.living == 0 { arrivalsByAddress[address] = nil }
  }
}

/// Connections in the order in which they came. What left in between is skipped, and swept away when it is more than
/// what is there.
private struct Arrivals: Sendable {
  private var queue: [Admission.ID] = []
  private var start = 0
  private var present: Set<Admission.ID> = []

  var living: Int { present.count }

  mutating func add(_ id: Admission.ID) {
    queue.append(id)
    present.insert(id)
  }

  mutating func remove(_ id: Admission.ID) {
    present.remove(id)
    while start < queue.count, !present.contains(queue[start]) { start += 1 }
    guard queue.count > 2 * present.count + 64 else { return }
    queue = queue[start...].filter(present.contains)
    start = 0
  }

  /// The first that is present: `remove` keeps `start` there.
  var oldest: Admission.ID? { start < queue.count ? queue[start] : nil }
}
