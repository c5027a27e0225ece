import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator

/// A dispatcher with a store in hand that keeps queues, and with workers that run what they get for as long as they
/// were told. Time goes on in seconds.
struct Yard {
  struct Waiting {
    var id: Int64
    var submittedAt: Instant
    /// Since when it could start, on the steady clock.
    var since: Timestamp
    /// How long its launch takes.
    var duration: Int
  }

  struct Running {
    var request: Waiting
    var requirementClass: RequirementClass
    var host: HostName
    var endsAt: Instant
  }

  var desk = Desk()
  /// The ready requests of each class, in the order in which they start.
  private(set) var queues: [RequirementClass: [Waiting]] = [:]
  private(set) var running: [LaunchKey: Running] = [:]
  /// The seconds from the submission to the first start of each request.
  private(set) var waits: [Int64: Int] = [:]
  private(set) var starts: [(request: Int64, host: HostName)] = []
  private var hellos: [HostName: Hello] = [:]
  private var launches: [Int64: Int] = [:]
  private var lastRequest: Int64 = 0

  init(_ rules: DispatchRules = DispatchRules()) {
    desk.dispatcher = Dispatcher(leaseTerm: Desk.term, rules: rules)
    desk.tick()
  }

  mutating func attach(_ hello: Hello) {
    hellos[hello.host] = hello
    desk.attach(hello)
  }

  @discardableResult
  mutating func submit(_ definition: Int64, _ priority: Priority = .background, takes duration: Int) -> Int64 {
    lastRequest += 1
    let request = Waiting(
      id: lastRequest, submittedAt: desk.now, since: desk.clocks.steady, duration: duration)
    queue(request, ready(definition, priority))
    return request.id
  }

  private mutating func queue(_ request: Waiting, _ requirementClass: RequirementClass) {
    queues[requirementClass, default: []].append(request)
    queues[requirementClass]?.sort { $0.id < $1.id }
    desk.dispatcher.noteReady(requirementClass)
  }

  /// A second goes by: launches end, and others start.
  mutating func second() {
    desk.advance(.seconds(1))
    for name in hellos.keys.sorted() { _ = desk.dispatcher.heartbeat(1, from: name, at: desk.now) }
    for (key, launch) in running.sorted(by: { $0.key < $1.key }) where launch.endsAt <= desk.now {
      desk.dispatcher.ended(key)
      running[key] = nil
    }
    perform(desk.tick())
    while dispatch() {}
  }

  mutating func pass(_ seconds: Int) { for _ in 0..<seconds { second() } }

  /// One round of dispatching.
  /// - Returns: whether something has started.
  private mutating func dispatch() -> Bool {
    let before = desk.dispatcher
    let reservations = desk.dispatcher.reserveReady(limit: 512)
    var hasStarted = false
    for reservation in reservations {
      check(reservation, before)
      hasStarted = claim(reservation) || hasStarted
    }
    return hasStarted
  }

  private mutating func claim(_ reservation: Dispatcher.Reservation) -> Bool {
    let requirementClass = reservation.requirementClass
    let found = Array((queues[requirementClass] ?? []).prefix(reservation.places.count))
    queues[requirementClass]?.removeFirst(found.count)
    let assignments = zip(found, reservation.places).map { request, gpus in
      start(request, requirementClass, gpus, on: reservation.host)
    }
    let first = queues[requirementClass]?.first.map { WaitingHead(RequestID($0.id), since: $0.since) }
    perform(
      desk.dispatcher.settle(reservation, with: assignments, hasMore: first != nil, first: first))
    return !assignments.isEmpty
  }

  private mutating func start(
    _ request: Waiting, _ requirementClass: RequirementClass, _ gpus: [Int], on host: HostName
  ) -> Assignment {
    let number = launches[request.id, default: 0] + 1
    launches[request.id] = number
    if number == 1 { waits[request.id] = Int((desk.now - request.submittedAt).inSeconds) }
    starts.append((request.id, host))
    running[key(request.id, number)] = Running(
      request: request, requirementClass: requirementClass, host: host,
      endsAt: desk.now + .seconds(request.duration))
    return Desk.assignment(
      request.id, launch: number, of: requirementClass.definition.rawValue, priority: requirementClass.priority,
      gpus: gpus)
  }

  /// Launches that are asked to stop do so in two seconds, and their requests are ready again.
  private mutating func perform(_ effects: [Dispatcher.Effect]) {
    for case .noteExpiry(let launch, _, _) in effects { running[launch]?.endsAt = desk.now + .seconds(2) }
    for case .noteExpiry(let launch, _, _) in effects {
      guard let found = running[launch] else { continue }
      var request = found.request
      request.since = desk.clocks.steady
      // It is ready when its launch has ended; until then it waits where it would stand.
      interrupted[launch] = (request, found.requirementClass)
    }
    resume()
  }

  private var interrupted: [LaunchKey: (Waiting, RequirementClass)] = [:]

  private mutating func resume() {
    for (launch, (request, requirementClass)) in interrupted.sorted(by: { $0.key < $1.key })
    where running[launch] == nil {
      interrupted[launch] = nil
      queue(request, requirementClass)
    }
  }

  mutating func drain(_ host: HostName, _ isDraining: Bool) {
    perform(desk.dispatcher.setDraining(host, isDraining))
  }

  /// The worker's process dies, with all that runs there, and another one takes its place.
  mutating func restart(_ host: HostName) {
    guard let hello = hellos[host] else { return }
    _ = desk.dispatcher.processDied(host, hello.incarnation, isBlameless: true)
    desk.leaseEnded(host, hello.incarnation)
    for (key, launch) in running.sorted(by: { $0.key < $1.key }) where launch.host == host {
      running[key] = nil
      interrupted[key] = nil
      queue(launch.request, launch.requirementClass)
    }
    let number = Int(hello.incarnation.rawValue.dropFirst(host.rawValue.count)) ?? 0
    var next = hello
    next.incarnation = Incarnation("\(host)\(number + 1)")
    attach(next)
  }

  // MARK: What explain says

  /// `explain` had no obstacle for what gets a place.
  private func check(_ reservation: Dispatcher.Reservation, _ before: Dispatcher) {
    guard !reservation.places.isEmpty, let definition = before.definitions[reservation.requirementClass.definition]
    else { return }
    let (fleet, hosts) = before.obstacles(for: definition, of: reservation.requirementClass)
    let own = hosts.first { $0.0 == reservation.host }?.1
    #expect(fleet == [] && own == [], "\(reservation.requirementClass) on \(reservation.host)")
  }

  /// The classes that wait although `explain` has no obstacle for them.
  var withoutObstacle: [RequirementClass] {
    desk.dispatcher.ready.keys.sorted().filter { one in
      guard let definition = desk.dispatcher.definitions[one.definition] else { return false }
      let (fleet, hosts) = desk.dispatcher.obstacles(for: definition, of: one)
      return fleet.isEmpty && hosts.contains { $0.1.isEmpty }
    }
  }
}
