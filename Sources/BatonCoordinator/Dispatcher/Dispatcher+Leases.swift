package import BatonModel
package import BatonStore

/// Hellos, heartbeats and the end of leases.
extension Dispatcher {
  /// The answer to a hello.
  package enum Welcome: Hashable, Sendable {
    /// The worker holds the lease. The store's assignments decide what it runs: the caller reads them now and calls
    /// `attached` with them and with `held`, the launches that this dispatcher believed to run there before.
    case attached(held: [LaunchKey])
    /// A process with the same name and another incarnation held the lease, and that process is gone. The caller ends
    /// its lease first, and then repeats the hello.
    case after(ending: HostLease)
    case refused(String, isFinal: Bool)
  }

  /// A worker said hello. Another incarnation under the same name means that the earlier process is gone. If the
  /// earlier process is still connected, two workers have the same name, and the second worker is refused.
  package mutating func hello(_ hello: Hello, from address: String, at now: Instant) -> Welcome {
    var state = hosts[hello.host] ?? .unknown(hello.host)
    switch (state.lease, state.ownLease) {
    case (.ending(let incarnation), let lease?) where incarnation != hello.incarnation:
      // The end of this lease is ordered again, because the first order may not have been carried out. A second end
      // has no effect.
      return .after(ending: lease)
    case (.ending, _?):
      return .refused("the lease of host '\(hello.host)' is just ending; try again", isFinal: false)
    case (.held(let incarnation, _), let lease) where incarnation != hello.incarnation:
      if state.isConnected { return .refused(HostLease.twoOfOneName(hello.host), isFinal: false) }
      // The store has not granted the earlier process a lease, so there is nothing to end.
      guard let lease else { break }
      state.lease = .ending(incarnation)
      state.loseLease()
      hosts[hello.host] = state
      return .after(ending: lease)
    case (.held, _), (.none, _), (.elsewhere, _), (.ending, nil):
      break
    }
    hold(hello.incarnation, &state, at: now)
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

  /// Holds the lease for one term. A lease that is new here has no number before the store has granted it.
  func hold(_ incarnation: Incarnation, _ state: inout HostState, at now: Instant) {
    if state.incarnation != incarnation { state.isGranted = false }
    state.lease = .held(incarnation, until: now + leaseTerm)
    state.host.hasLease = true
  }

  /// The store has granted the lease to the process that said hello. A lease that is new here begins with a full term:
  /// another coordinator may have renewed it until a moment ago, while the store was slow.
  /// - Parameter grace: how long another coordinator may still renew it, before it hears that the host has moved.
  package mutating func granted(_ lease: HostLease, at now: Instant, grace: Duration = .zero) {
    let term = leaseTerm + grace
    // The worker was at another coordinator, where its launches may have made progress.
    if let known = hosts[lease.host], known.incarnation == lease.incarnation, known.leaseNumber < lease.number {
      forgiveStalls(on: lease.host)
      if known.awaySince != nil { hosts[lease.host]?.awaySince = now }
    }
    change(lease.host) { state in
      guard state.incarnation == lease.incarnation, state.leaseNumber <= lease.number else { return }
      if case .held = state.lease, !state.isGranted || state.leaseNumber < lease.number {
        state.lease = .held(lease.incarnation, until: now + term)
      }
      (state.leaseNumber, state.isGranted) = (lease.number, true)
    }
  }

  /// The lease is not this coordinator's any more: another coordinator, or another process, has the host. The host is
  /// forgotten here, and nothing of it is ended.
  package mutating func moved(_ lease: HostLease) -> [Effect] {
    hosts[lease.host]?.ownLease == lease ? lose(lease.host) : []
  }

  mutating func lose(_ host: HostName) -> [Effect] {
    for launch in hosts[host]?.launches.keys.sorted() ?? [] { release(launch) }
    change(host) { state in
      (state.lease, state.link, state.isGranted, state.undelivered) = (.elsewhere, .away, false, [])
      (state.isShuttingDown, state.host.isDraining) = (false, state.isDrainedByOperator)
    }
    return [.disconnect(host)]
  }

  /// Takes over the launches that the store believes to run on this host, after the host's hello. Launches that the
  /// worker runs too go on; launches that only the store knows are sent (again); launches that only the worker knows
  /// are withdrawn.
  /// - Parameter incarnation: the incarnation in the hello. If it lost the lease while the store was asked, the worker
  ///   has to say hello again. nil stands for the present holder of the lease.
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
    // Only launches that were held before the store was asked are released, because a claim may have been settled
    // since.
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

  /// The launches that were claimed after the store was asked and have not ended.
  private mutating func claimedSince(on host: HostName, _ assigned: Set<LaunchKey>) -> [Assignment] {
    defer { hosts[host]?.undelivered = [] }
    return (hosts[host]?.undelivered ?? []).filter { !assigned.contains($0.launch) && places[$0.launch] == host }
  }

  private mutating func takeOver(_ assignment: Assignment, on host: HostName, reportedGPUs: [Int]?) -> [Effect] {
    var assignment = assignment
    let launch = assignment.launch
    assignment.gpus = reportedGPUs ?? assignment.gpus
    // An expiry that the dispatcher decided may not have reached the store yet.
    assignment.pendingExpiry = hosts[host]?.launches[launch]?.expiring ?? assignment.pendingExpiry
    var state = RunningState(assignment, at: now)
    if let known = hosts[host]?.launches[launch] { state.goOn(from: known, awaySince: hosts[host]?.awaySince) }
    hold(launch, state, on: host)
    if reportedGPUs == nil { return deliver(assignment, to: host) }
    return assignment.pendingExpiry.map { [.send(host, .expire(launch, $0))] } ?? []
  }

  /// True if `process` holds the lease of its host, or its lease is just ending. Messages of any other process do not
  /// count.
  package func listens(to process: WorkerProcess) -> Bool {
    hosts[process.host]?.incarnation == process.incarnation
  }

  /// Renews the lease. If the lease has run out, the worker is disconnected and has to say hello again.
  package mutating func heartbeat(_ number: Int, from host: HostName, at now: Instant) -> [Effect] {
    guard case .held(let incarnation, _)? = hosts[host]?.lease else { return [.disconnect(host)] }
    hosts[host]?.lease = .held(incarnation, until: now + leaseTerm)
    return [.send(host, .heartbeatAnswered(number: number))]
  }

  /// The stream has closed. The launches go on, because the worker may reconnect within its lease.
  package mutating func disconnected(_ host: HostName) {
    if hosts[host]?.awaySince == nil { hosts[host]?.awaySince = now.instant }
    hosts[host]?.link = .away
    // The lease of a worker that has shut down ends at the next tick.
    if hosts[host]?.hasShutDown == true { noLeaseEndsBefore = nil }
  }

  /// Which of the hosts have lost their connection while their lease lasts.
  package func hostsAway(among names: some Sequence<HostName>, at now: Now) -> [HostName: HostAway] {
    var away: [HostName: HostAway] = [:]
    for name in Set(names) {
      guard let state = hosts[name], !state.isConnected, let since = state.awaySince,
        case .held(_, let until) = state.lease
      else { continue }
      away[name] = HostAway(since: now.date + (since - now.instant), leaseUntil: now.date + (until - now.instant))
    }
    return away
  }

  /// Ends every lease that has run out. Call it much more often than every `pauseNoticed`. A longer gap means that
  /// this process was stopped, and that heartbeats may wait unread. Then each live lease gets one full new term, as
  /// after a restart (promise P7); otherwise the launches of the whole fleet would be lost at once.
  package mutating func tick(at now: Now) -> [Effect] {
    self.now = now
    defer { lastTickAt = now.instant }
    if let lastTickAt { noticeGap(now.instant - lastTickAt) }
    watchWaits()
    keepBookings()
    return endLeases(at: now.instant) + enforceAllowances() + findStalls()
  }

  /// Takes account of a gap between two ticks, in which this process may have been stopped.
  private mutating func noticeGap(_ gap: Duration) {
    if gap > pauseNoticed { return renewAll(at: now.instant) }
    if gap > Self.longestTick { excuseStalls(for: gap) }
  }

  /// A gap that is longer than this, ten ticks of the daemon, is no time in which a launch could show progress.
  private static let longestTick = Duration.seconds(1)

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

  /// The gap between two ticks from which on the dispatcher assumes that its process was stopped. Workers send
  /// heartbeats every half of the term at the least, so a shorter gap does not end a lease. A gap below 300 ms only
  /// means that the machine is busy.
  package var pauseNoticed: Duration { max(leaseTerm / 3, .milliseconds(300)) }

  private mutating func renewAll(at now: Instant) {
    for name in hosts.keys {
      // Also where the lease is ending: its launches may have reported progress that is not read yet.
      forgiveStalls(on: name)
      guard case .held(let incarnation, _)? = hosts[name]?.lease else { continue }
      hosts[name]?.lease = .held(incarnation, until: now + leaseTerm)
    }
  }

  /// A supervisor has reported that its worker's process died.
  /// - Parameter isBlameless: true if the process did not die because of its launches; they do not count as losses
  ///   then.
  package mutating func processDied(
    _ host: HostName, _ incarnation: Incarnation, isBlameless: Bool
  ) -> [Effect] {
    if hosts[host]?.lease == .elsewhere || hosts[host] == nil {
      return [.endLeaseElsewhere(WorkerProcess(host: host, incarnation: incarnation), countsAsLoss: !isBlameless)]
    }
    guard case .held(incarnation, _)? = hosts[host]?.lease else { return [] }
    return endLease(of: host, incarnation, countsAsLoss: !isBlameless)
  }

  /// An operator has revoked the certificates of a host. Its launches go on elsewhere, and none of them is to blame.
  package mutating func revoked(_ host: HostName) -> [Effect] {
    guard case .held(let incarnation, _)? = hosts[host]?.lease else { return [] }
    return endLease(of: host, incarnation, countsAsLoss: false)
  }

  private mutating func endLease(
    of name: HostName, _ incarnation: Incarnation, countsAsLoss: Bool
  ) -> [Effect] {
    guard let lease = hosts[name]?.ownLease else {
      // The store has not granted it, so there is nothing to end there.
      hosts[name]?.loseLease()
      hosts[name]?.lease = .none
      return [.disconnect(name)]
    }
    hosts[name]?.lease = .ending(incarnation)
    hosts[name]?.loseLease()
    return [.disconnect(name), .endLease(lease, countsAsLoss: countsAsLoss)]
  }

  /// The store has ended the lease and its launches.
  package mutating func leaseEnded(_ lease: HostLease) {
    guard case .ending(lease.incarnation)? = hosts[lease.host]?.lease else { return }
    for launch in hosts[lease.host]?.launches.keys.sorted() ?? [] { ended(launch) }
    hosts[lease.host]?.lease = .none
    hosts[lease.host]?.isGranted = false
    hosts[lease.host]?.link = .away
    hosts[lease.host]?.undelivered = []
  }

  /// The latest instant for the next `tick`; nil if no lease is held.
  package var nextDeadline: Instant? {
    let ends = hosts.values.compactMap { state in
      if case .held(_, let until) = state.lease { until } else { nil }
    }
    return ends.min().map { end in lastTickAt.map { min(end, $0 + pauseNoticed) } ?? end }
  }
}

extension HostState {
  /// The worker has said that it is shutting down, all its launches have ended, and its connection is gone: it does
  /// not come back.
  var hasShutDown: Bool { isShuttingDown && link == .away && launches.isEmpty }
}
