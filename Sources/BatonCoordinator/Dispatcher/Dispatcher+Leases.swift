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

  /// A worker said hello. Another incarnation under the same name means that the earlier process is gone. If the
  /// earlier process is still connected, there are two workers of one name, and the second is refused.
  package mutating func hello(_ hello: Hello, from address: String, at now: Instant) -> Welcome {
    var state = hosts[hello.host] ?? .unknown(hello.host)
    switch state.lease {
    case .ending(let incarnation) where incarnation != hello.incarnation:
      // Ending it twice does no harm, and whoever began may not have come to the end.
      return .after(ending: incarnation)
    case .ending:
      return .refused("the lease of host '\(hello.host)' is just ending; try again", isFinal: false)
    case .held(let incarnation, _) where incarnation != hello.incarnation:
      #if PLANTED_BUGS
        if isPlanted(.grantsTwice) { break }
      #endif
      if state.isConnected { return .refused(Self.twoOfOneName(hello.host), isFinal: false) }
      state.lease = .ending(incarnation)
      state.loseLease()
      hosts[hello.host] = state
      return .after(ending: incarnation)
    case .held, .none:
      break
    }
    grant(hello.incarnation, to: &state, at: now)
    state.link = .attaching
    state.undelivered = []
    state.isShuttingDown = false
    state.version = hello.version
    state.host.capabilities = hello.capabilities
    state.host.conditions = hello.conditions
    state.host.isDraining = state.isDrainedByOperator
    hosts[hello.host] = state
    return .attached(held: state.launches.keys.sorted())
  }

  mutating func grant(_ incarnation: Incarnation, to state: inout HostState, at now: Instant) {
    if state.lease == .none {
      grantCount += 1
      state.grant = grantCount
    }
    state.lease = .held(incarnation, until: now + leaseTerm)
    state.host.hasLease = true
  }

  /// The same each time, so that a worker that tries again says it once.
  private static func twoOfOneName(_ host: HostName) -> String {
    "another worker named '\(host)' is connected and alive, so this one is not taken: give one of them another --name"
  }

  /// The store's word on what this host runs, after its hello: what the worker runs too goes on, what only the store
  /// knows is sent (again), what only the worker knows is withdrawn.
  /// - Parameter incarnation: of the hello. If it lost the lease while the store was asked, it has to say hello again;
  ///   nil stands for whoever holds the lease.
  package mutating func attached(
    _ host: HostName, _ incarnation: Incarnation? = nil, held: [LaunchKey], running: [RunningLaunch],
    assignments: [Assignment]
  ) -> [Effect] {
    guard case .held(let holder, _)? = hosts[host]?.lease, holder == incarnation ?? holder else {
      return [.disconnect(host)]
    }
    hosts[host]?.link = .attached
    hosts[host]?.knownDefinitions = []
    let reported = Dictionary(running.map { ($0.launch, $0.gpus) }, uniquingKeysWith: { first, _ in first })
    let assigned = Set(assignments.map(\.launch))
    // Only what was held before the store was asked: a claim may have been settled since.
    for launch in held where !assigned.contains(launch) { release(launch) }
    var effects: [Effect] = [.send(host, .welcome(leaseTerm: leaseTerm))]
    for assignment in (assignments + claimedSince(on: host, assigned)).sorted(by: { $0.launch < $1.launch }) {
      effects += takeOver(assignment, on: host, reportedGPUs: reported[assignment.launch])
    }
    for launch in running.map(\.launch).sorted() where places[launch] != host {
      effects.append(.send(host, .withdraw(launch, "another launch of this request is live, or it has ended")))
    }
    if isPaused { effects += expireAll(on: host, .paused) }
    if hosts[host]?.isDrainedByOperator == true { effects += expireAll(on: host, .draining) }
    hosts[host]?.awaySince = nil
    return effects + enforceEvictions(on: host)
  }

  /// Launches that were claimed after the store was asked, and have not ended.
  private mutating func claimedSince(on host: HostName, _ assigned: Set<LaunchKey>) -> [Assignment] {
    defer { hosts[host]?.undelivered = [] }
    return (hosts[host]?.undelivered ?? []).filter { !assigned.contains($0.launch) && places[$0.launch] == host }
  }

  private mutating func takeOver(_ assignment: Assignment, on host: HostName, reportedGPUs: [Int]?) -> [Effect] {
    var assignment = assignment
    let launch = assignment.launch
    assignment.gpus = reportedGPUs ?? assignment.gpus
    // What was decided here may not have come to the store yet.
    assignment.pendingExpiry = hosts[host]?.launches[launch]?.expiring ?? assignment.pendingExpiry
    var state = RunningState(assignment, at: now)
    if let known = hosts[host]?.launches[launch] { state.goOn(from: known, awaySince: hosts[host]?.awaySince) }
    hold(launch, state, on: host)
    if reportedGPUs == nil { return deliver(assignment, to: host) }
    #if PLANTED_BUGS
      if isPlanted(.forgetsExpiryOfReturned) { return [] }
    #endif
    return assignment.pendingExpiry.map { [.send(host, .expire(launch, $0))] } ?? []
  }

  /// Whether `process` holds the lease of its host, or held it last: the word of any other process counts for nothing.
  package func listens(to process: WorkerProcess) -> Bool {
    hosts[process.host]?.incarnation == process.incarnation
  }

  /// Renews the lease, unless it ran out: then the worker has to say hello again.
  package mutating func heartbeat(_ number: Int, from host: HostName, at now: Instant) -> [Effect] {
    guard case .held(let incarnation, _)? = hosts[host]?.lease else { return [.disconnect(host)] }
    hosts[host]?.lease = .held(incarnation, until: now + leaseTerm)
    return [.send(host, .heartbeatAnswered(number: number))]
  }

  /// The stream closed. That alone decides nothing: the worker may come back within its lease.
  package mutating func disconnected(_ host: HostName) {
    if hosts[host]?.awaySince == nil { hosts[host]?.awaySince = now.instant }
    hosts[host]?.link = .away
    // One that shut down gives its lease back with the next tick.
    if hosts[host]?.hasShutDown == true { noLeaseEndsBefore = nil }
  }

  /// Ends every lease whose time is over. Call it well more often than every `pauseNoticed`: after a longer gap this
  /// process was stopped, and heartbeats may wait unread. Then each live lease gets one full new term, as after a
  /// restart (promise P7); otherwise the launches of the whole fleet would be lost at once.
  package mutating func tick(at now: Now) -> [Effect] {
    self.now = now
    defer { lastTickAt = now.instant }
    if let lastTickAt, now.instant - lastTickAt > pauseNoticed { renewAll(at: now.instant) }
    watchWaits()
    return endLeases(at: now.instant) + enforceAllowances() + findStalls()
  }

  private mutating func endLeases(at now: Instant) -> [Effect] {
    if let noLeaseEndsBefore, now < noLeaseEndsBefore { return [] }
    var next = now + leaseTerm
    let ended = hostNames { state in
      guard case .held(_, let until) = state.lease else { return false }
      if until > now { next = min(next, until) }
      return until <= now || state.hasShutDown
    }
    noLeaseEndsBefore = next
    return ended.flatMap { name -> [Effect] in
      guard case .held(let incarnation, let until)? = hosts[name]?.lease else { return [] }
      return endLease(of: name, incarnation, countsAsLoss: until <= now)
    }
  }

  /// Workers send heartbeats every third of the term, so a shorter pause outlives no lease. Below 300 ms a gap is only
  /// a busy machine.
  package var pauseNoticed: Duration { max(leaseTerm / 2, .milliseconds(300)) }

  private mutating func renewAll(at now: Instant) {
    #if PLANTED_BUGS
      if isPlanted(.countsOwnPause) { return }
    #endif
    for name in hosts.keys {
      guard case .held(let incarnation, _)? = hosts[name]?.lease else { continue }
      hosts[name]?.lease = .held(incarnation, until: now + leaseTerm)
      forgiveStalls(on: name)
    }
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
    hosts[name]?.loseLease()
    return [.disconnect(name), .endLease(name, incarnation, countsAsLoss: countsAsLoss)]
  }

  /// The store has ended the lease and its launches.
  package mutating func leaseEnded(_ host: HostName, _ incarnation: Incarnation) {
    guard case .ending(incarnation)? = hosts[host]?.lease else { return }
    for launch in hosts[host]?.launches.keys.sorted() ?? [] { ended(launch) }
    hosts[host]?.lease = .none
    hosts[host]?.link = .away
    hosts[host]?.undelivered = []
  }

  /// When `tick` has to come next at the latest, nil if no lease is held.
  package var nextDeadline: Instant? {
    let ends = hosts.values.compactMap { state in
      if case .held(_, let until) = state.lease { until } else { nil }
    }
    return ends.min().map { end in lastTickAt.map { min(end, $0 + pauseNoticed) } ?? end }
  }
}

extension HostState {
  /// Its worker said that it shuts down, every launch there has ended, and its connection is gone: it does not come back.
  var hasShutDown: Bool { isShuttingDown && link == .away && launches.isEmpty }
}
