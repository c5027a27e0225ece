package import BatonModel

/// Hello, heartbeats and the end of leases.
extension Dispatcher {
  /// What becomes of a hello.
  package enum Welcome: Hashable, Sendable {
    /// The worker holds the lease. The store's assignments decide what it runs: read them now and call `attached` with
    /// them and with `held`, the launches that this dispatcher believed to be there before.
    case attached(held: [LaunchKey])
    /// The same name held a lease with another incarnation, whose process is gone: that lease ends first, then the
    /// hello is said again.
    case after(ending: Incarnation)
    case refused(String, isFinal: Bool)
  }

  /// A worker said hello. Another incarnation under the same name means that the process before it is gone, unless that
  /// one is still connected: then there are two, and the second is refused (design, section 5).
  package mutating func hello(_ hello: Hello, from address: String, at now: Instant) -> Welcome {
    var state = hosts[hello.host] ?? .unknown(hello.host)
    switch state.lease {
    case .ending:
      return .refused("the lease of host '\(hello.host)' is just ending; try again", isFinal: false)
    case .held(let incarnation, _) where incarnation != hello.incarnation:
      if state.isConnected { return .refused(Self.twoOfOneName(hello.host, address), isFinal: false) }
      state.lease = .ending(incarnation)
      state.host.hasLease = false
      hosts[hello.host] = state
      return .after(ending: incarnation)
    case .held, .none:
      break
    }
    state.lease = .held(hello.incarnation, until: now + leaseTerm)
    state.link = .attaching(undelivered: [])
    state.version = hello.version
    state.knownDefinitions = []
    state.host.capabilities = hello.capabilities
    state.host.conditions = hello.conditions
    state.host.hasLease = true
    state.host.isDraining = state.isDrainedByOperator
    hosts[hello.host] = state
    return .attached(held: state.launches.keys.sorted())
  }

  private static func twoOfOneName(_ host: HostName, _ address: String) -> String {
    "another worker named '\(host)' is connected and alive, so the one at \(address) is not taken: "
      + "give one of them another --name"
  }

  /// The store's word on what this host runs, after its hello: what the worker runs too goes on, what only the store
  /// knows is sent (again), what only the worker knows is withdrawn.
  package mutating func attached(
    _ host: HostName, held: [LaunchKey], running: [RunningLaunch], assignments: [Assignment]
  ) -> [Effect] {
    var effects: [Effect] = [.send(host, .welcome(leaseTerm: leaseTerm))]
    let reported = Dictionary(running.map { ($0.launch, $0.gpus) }, uniquingKeysWith: { first, _ in first })
    let assigned = Set(assignments.map(\.launch))
    var claimed: [Assignment] = []
    if case .attaching(let undelivered)? = hosts[host]?.link { claimed = undelivered }
    hosts[host]?.link = .attached
    // Only what was held before the store was asked: a claim may have been settled since.
    for launch in held where !assigned.contains(launch) { release(launch) }
    for var assignment in assignments.sorted(by: { $0.launch < $1.launch }) {
      assignment.gpus = reported[assignment.launch] ?? assignment.gpus
      hold(assignment.launch, RunningState(assignment), on: host)
      if reported[assignment.launch] == nil {
        effects += deliver(assignment, to: host)
      } else if let reason = assignment.pendingExpiry {
        effects.append(.send(host, .expire(assignment.launch, reason)))
      }
    }
    for assignment in claimed where !assigned.contains(assignment.launch) && places[assignment.launch] == host {
      effects += deliver(assignment, to: host)
    }
    for launch in running.map(\.launch).sorted() where !assigned.contains(launch) {
      effects.append(.send(host, .withdraw(launch, "another launch of this request is live, or it has ended")))
    }
    if isPaused { effects += expireAll(on: host, .paused) }
    if hosts[host]?.isDrainedByOperator == true { effects += expireAll(on: host, .draining) }
    return effects
  }

  /// Renews the lease, unless it ran out: then the worker has to say hello again.
  package mutating func heartbeat(_ number: Int, from host: HostName, at now: Instant) -> [Effect] {
    guard case .held(let incarnation, _)? = hosts[host]?.lease else { return [.disconnect(host)] }
    hosts[host]?.lease = .held(incarnation, until: now + leaseTerm)
    return [.send(host, .heartbeatAnswered(number: number))]
  }

  /// The stream closed. That alone decides nothing: the worker may come back within its lease.
  package mutating func disconnected(_ host: HostName) { hosts[host]?.link = .away }

  /// Ends every lease whose time is over.
  package mutating func tick(at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    for name in hosts.keys.sorted() {
      guard case .held(let incarnation, let until)? = hosts[name]?.lease, until <= now else { continue }
      effects += endLease(of: name, incarnation, countsAsLoss: true)
    }
    return effects
  }

  /// A supervisor says that its worker's process died.
  /// - Parameter isBlameless: its launches had no part in that.
  package mutating func processDied(
    _ host: HostName, _ incarnation: Incarnation, isBlameless: Bool
  ) -> [Effect] {
    guard case .held(incarnation, _)? = hosts[host]?.lease else { return [] }
    return endLease(of: host, incarnation, countsAsLoss: !isBlameless)
  }

  private mutating func endLease(
    of name: HostName, _ incarnation: Incarnation, countsAsLoss: Bool
  ) -> [Effect] {
    hosts[name]?.lease = .ending(incarnation)
    hosts[name]?.host.hasLease = false
    return [.disconnect(name), .endLease(name, incarnation, countsAsLoss: countsAsLoss)]
  }

  /// The store has ended the lease and its launches.
  package mutating func leaseEnded(_ host: HostName, _ incarnation: Incarnation) {
    guard case .ending(incarnation)? = hosts[host]?.lease else { return }
    for launch in hosts[host]?.launches.keys.sorted() ?? [] { release(launch) }
    hosts[host]?.lease = .none
    hosts[host]?.link = .away
  }

  /// When `tick` has something to do, nil if no lease is held.
  package var nextDeadline: Instant? {
    hosts.values.compactMap { state in
      if case .held(_, let until) = state.lease { until } else { nil }
    }.min()
  }
}
