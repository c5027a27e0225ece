package import BatonModel

/// Decides which connections a listener keeps. Clients that have not shown the token can neither use up the file
/// descriptors that other connections need nor keep other clients out.
///
/// A connection over which nothing was served is closed at its deadline. When a limit is reached, a new connection
/// replaces the oldest connection that has shown no token, and is not refused. Real clients show the token within
/// milliseconds, so a program that opens silent connections displaces its own connections. Connections of the owner are
/// never replaced.
package struct Admission: Sendable {
  package struct Limits: Hashable, Sendable {
    /// The largest number of connections.
    package var connections: Int
    /// Additional connections for clients of the Unix socket, which only the coordinator's user and root can open.
    package var reservedForOwner: Int
    /// The largest number of connections over which no token was shown.
    package var unproven: Int
    /// The largest number of connections without a token from one address.
    package var unprovenPerAddress: Int
    /// The time from when a connection is accepted until something must have been served over it.
    package var patience: Duration
    /// How many connections one address may open in a second, because each may cost a TLS handshake. For addresses of
    /// loopback there is no such limit: one user of the machine could keep out all others with it.
    package var arrivals: RateLimit

    package init(
      connections: Int, reservedForOwner: Int = 0, unproven: Int, unprovenPerAddress: Int,
      patience: Duration, arrivals: RateLimit = RateLimit(rate: 200, burst: 1000)
    ) {
      (self.connections, self.reservedForOwner) = (connections, reservedForOwner)
      (self.unproven, self.unprovenPerAddress, self.patience) = (unproven, unprovenPerAddress, patience)
      self.arrivals = arrivals
    }
  }

  /// Identifies a connection. An id is used only once in the life of the process.
  package typealias ID = UInt64

  /// Where a connection comes from.
  package enum Origin: Hashable, Sendable {
    /// A connection through a Unix socket, whose folder admits only the coordinator's user and root.
    case owner
    /// A connection over TCP from this IP address.
    case address(String)
  }

  /// What to do with a new connection.
  package enum Verdict: Hashable, Sendable {
    case admit
    /// Admit the new connection, and close this other one, which showed no token.
    case admitInPlaceOf(ID)
    case refuse
  }

  private enum Standing {
    /// Nothing was served over the connection yet.
    case waiting(since: Instant)
    /// A call that needs no token was served, for example `/healthz`.
    case served
    /// The client has shown the token.
    case proven
  }

  private struct Entry {
    var origin: Origin
    var standing: Standing

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
  /// Counts the connections of each address.
  private var rate: RateMeter<String>
  /// Connections that were closed or refused since the last report.
  private var turnedAway = 0
  /// When the last report was made; `nil` before the first one.
  private var toldAt: Instant?

  package init(_ limits: Limits) {
    self.limits = limits
    rate = RateMeter(limits.arrivals)
  }

  package var count: Int { entries.count }
  /// How many connections from TCP addresses have shown no token.
  package var unprovenCount: Int { arrivals.living }

  // MARK: Facts

  /// Decides about a connection that was just accepted.
  package mutating func opened(_ id: ID, from origin: Origin, at now: Instant) -> Verdict {
    let victim: ID?
    let isFull: Bool
    switch origin {
    case .owner:
      isFull = count >= limits.connections + limits.reservedForOwner
      victim = isFull ? arrivals.oldest : nil
    case .address(let address):
      guard address.hasPrefix("127.") || address == "::1" || rate.take(address, at: now) else { return turnAway() }
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

  /// Notes that a call that needs no token was served over the connection.
  package mutating func served(_ id: ID) {
    guard case .waiting = entries[id]?.standing else { return }
    entries[id]?.standing = .served
  }

  /// Notes that the client of the connection has shown the token.
  package mutating func proven(_ id: ID) {
    guard let entry = entries[id], entry.isUnproven else { return }
    forgetArrival(id, entry)
    entries[id]?.standing = .proven
  }

  /// Whether nothing was served over the connection until its deadline, so that it has to be closed. The connection is
  /// forgotten if so.
  package mutating func isOverdue(_ id: ID, at now: Instant) -> Bool {
    guard let entry = entries[id], entry.isUnproven, case .waiting(let since) = entry.standing,
      now - since >= limits.patience
    else { return false }
    remove(id)
    turnedAway += 1
    return true
  }

  package mutating func closed(_ id: ID) { remove(id) }

  /// How many connections were closed or refused since the last report. Returns `nil` if there were none, or if the
  /// last report is less than a minute old.
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

/// The connections in the order of their arrival. Connections that have ended stay in the queue and are skipped. They
/// are removed together when they are more than the connections that are left.
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

  /// The first connection that is still present. `remove` keeps `start` at its position.
  var oldest: Admission.ID? { start < queue.count ? queue[start] : nil }
}
