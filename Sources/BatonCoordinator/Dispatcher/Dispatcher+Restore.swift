package import BatonModel
package import BatonStore

/// What the dispatcher takes over from the store: everything at the start of its coordinator, and later what other
/// coordinators have changed.
extension Dispatcher {
  /// Takes over the store's state at the start of a coordinator. Each lease that this coordinator owns gets one full
  /// new term (promise P7). Until a host says hello, its last stored report is used.
  @discardableResult
  package mutating func restore(_ fleet: FleetRecord, at now: Now) -> [Effect] {
    self.now = now
    lastTickAt = now.instant
    paces = fleet.usualBatches.mapValues { Pace(inherited: $0) }
    let effects = hear(fleet, at: now.instant)
    keptUses = lastUses
    return effects
  }

  /// Takes over what the store says of the fleet now. News about this coordinator's own hosts are few: operators' words
  /// that another coordinator has stored, leases that were taken over from a coordinator that has ended, and leases
  /// that another coordinator has. What the store says about the hosts of other coordinators replaces what was known.
  package mutating func hear(_ fleet: FleetRecord, at instant: Instant) -> [Effect] {
    definitions.merge(fleet.definitions) { $1 }
    use = fleet.use
    lastUses.merge(fleet.lastUses) { max($0, $1) }
    var effects: [Effect] = fleet.isPaused == isPaused ? [] : setPaused(fleet.isPaused)
    let running = Dictionary(grouping: fleet.running, by: \.host)
    let records = fleet.hosts
    for record in records {
      effects += hear(record, isOwn: record.owner == fleet.epoch, running[record.name] ?? [], at: instant)
    }
    forgetOthers(than: records)
    hearNamespaces(fleet.namespaces)
    for requirementClass in fleet.readyClasses {
      noteReady(requirementClass, first: fleet.firstReady[requirementClass])
    }
    return effects
  }

  private mutating func hear(
    _ record: HostRecord, isOwn: Bool, _ running: [RunningRecord], at instant: Instant
  ) -> [Effect] {
    let name = record.name
    let state = hosts[name] ?? .unknown(name)
    var effects: [Effect] = []
    // News about an earlier lease are old: the store was asked before it granted or ended the one that is known here.
    // A lease that is being granted here comes after every lease that the store can have told of.
    let isNews = record.leaseNumber > state.leaseNumber && (state.isGranted || state.incarnation == nil)
    if isOwn {
      if isNews, let incarnation = record.incarnation {
        // The lease was here, went to another coordinator, and came back before this one heard of it. The worker has to
        // say hello again, because its launches may have changed meanwhile.
        if state.link != .away { effects.append(.disconnect(name)) }
        adopt(record, incarnation, running, at: instant)
      }
    } else if isNews || state.incarnation == nil && record.leaseNumber == state.leaseNumber {
      if state.incarnation != nil { effects += lose(name) }
      hear(elsewhere: record, running)
    }
    effects += setWords(of: record)
    // Another coordinator has cancelled the request, or this one has noted the expiry itself.
    for launch in running where isOwn { if let reason = launch.expiring { effects += expire(launch.launch, reason) } }
    return effects
  }

  /// Takes over operators' words about a host, as the store has them.
  private mutating func setWords(of record: HostRecord) -> [Effect] {
    let name = record.name
    var effects: [Effect] = []
    if hosts[name] == nil { hosts[name] = .unknown(name) }
    if record.isDraining != hosts[name]?.isDrainedByOperator { effects += setDraining(name, record.isDraining) }
    let evictions = hosts[name]?.host.evictions ?? []
    for pattern in record.evictions.subtracting(evictions).sorted() { effects += setEvicted(pattern, from: name, true) }
    for pattern in evictions.subtracting(record.evictions).sorted() {
      effects += setEvicted(pattern, from: name, false)
    }
    return effects
  }

  /// Takes over the lease of a host, whose worker has one full term to come back.
  private mutating func adopt(
    _ record: HostRecord, _ incarnation: Incarnation, _ running: [RunningRecord], at instant: Instant
  ) {
    let name = record.name
    for launch in hosts[name]?.launches.keys.sorted() ?? [] { release(launch) }
    var state = hosts[name] ?? .unknown(name)
    state.takeOver(record)
    hold(incarnation, &state, at: instant)
    (state.leaseNumber, state.isGranted, state.link) = (record.leaseNumber, true, .away)
    hosts[name] = state
    for launch in running { hold(launch, on: name) }
  }

  /// Replaces what is known of a host that another coordinator serves, or that no coordinator serves.
  private mutating func hear(elsewhere record: HostRecord, _ running: [RunningRecord]) {
    let name = record.name
    var state = hosts[name] ?? .unknown(name)
    state.takeOver(record)
    state.lease = record.incarnation == nil ? .none : .elsewhere
    state.host.hasLease = record.incarnation != nil
    state.leaseNumber = record.leaseNumber
    state.servedBy = record.incarnation == nil ? nil : record.owner.map { (epoch: $0, isConnected: record.isLinked) }
    hosts[name] = state
    let present = Set(running.map(\.launch))
    for launch in state.launches.keys.sorted() where !present.contains(launch) { release(launch) }
    for launch in running where state.launches[launch.launch] == nil { hold(launch, on: name) }
  }

  private mutating func hold(_ running: RunningRecord, on host: HostName) {
    var state = RunningState(
      identifier: running.identifier, requirementClass: running.requirementClass, gpus: [],
      expiring: running.expiring, startedSteady: running.startedSteady, seenAt: now.instant)
    state.head = running.head
    hold(running.launch, state, on: host)
  }
}

extension HostState {
  /// Takes over what the store knows of the host itself.
  fileprivate mutating func takeOver(_ record: HostRecord) {
    use = record.use
    guard let word = record.word else { return }
    version = word.version
    host.capabilities = word.capabilities
    host.conditions = word.conditions
  }
}
