package import BatonModel
package import BatonStore

/// Decides which launches start where, which launches are asked to stop, and what every worker is told. It is a value
/// without a clock, a store or a connection. `CoordinatorCore` gives it facts and performs the returned effects in
/// their order.
package struct Dispatcher: Sendable {
  /// What has to happen because of a fact.
  package enum Effect: Hashable, Sendable {
    case send(HostName, CoordinatorMessage)
    /// The host's current connection ends, and the host gets no more messages on it.
    case disconnect(HostName)
    /// The store ends this lease, and its launches as lost. Afterwards `leaseEnded` is called.
    case endLease(HostLease, countsAsLoss: Bool)
    /// The process has died, and another coordinator owns its lease, if it holds one. The store ends that lease.
    case endLeaseElsewhere(WorkerProcess, countsAsLoss: Bool)
    /// The store records that the launch was asked to stop. `from` is the worker's process that decided it; nil if the
    /// dispatcher decided it.
    case noteExpiry(LaunchKey, ExpiryReason, from: WorkerProcess? = nil)
    /// The store adds an event to the history of the request.
    case note(RequestID, event: RequestEvent, detail: String)
    /// The store records that a person used the definition at this time of the steady clock.
    case noteUse(IdentifierPattern, at: Timestamp)
  }

  package var leaseTerm: Duration
  package let rules: DispatchRules
  package internal(set) var hosts: [HostName: HostState] = [:]
  /// How many hosts were forgotten. As long as this number and that of `hosts` stay the same, so do the names of hosts.
  var forgottenHosts = 0
  package internal(set) var definitions: [DefinitionID: Definition] = [:]
  package internal(set) var isPaused = false
  /// The classes that may have ready requests.
  package internal(set) var ready: [RequirementClass: ReadyClass] = [:]
  /// How many launches run or have a reserved place, by the pattern of their definition. `maxRunning` limits this
  /// number.
  var runningByPattern: [IdentifierPattern: Int] = [:]
  /// The host on which each launch runs.
  package internal(set) var places: [LaunchKey: HostName] = [:]
  /// The request of each shard that runs and is not the request's own.
  var heads: [RequestID: RequestID] = [:]
  /// The requests of which launches run.
  var active: [RequestID: ActiveRequest] = [:]
  /// Claims that the store has not answered yet, and what has been decided about their launches meanwhile.
  var openClaims = OpenClaims()
  var turn = 0
  /// Counts the news of all classes together. A class that was removed and came back therefore has a news number that
  /// no earlier reservation has.
  var newsCount = 0
  var lastTickAt: Instant?
  /// No lease ends before this instant: it is the earliest end of the leases at the last check, and a newer or renewed
  /// lease lasts a whole term. nil if the leases have to be checked at the next tick.
  var noLeaseEndsBefore: Instant?
  /// The time of the last tick. Times that the dispatcher measures are as exact as the ticks.
  package internal(set) var now = Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 0))
  /// What has been used of the daily allowances of definitions, without the running launches.
  var use: [IdentifierPattern: DailyUse] = [:]
  /// What namespaces hold and have used.
  var ledger: NamespaceLedger
  /// What is known about how long batches take.
  var paces: [IdentifierPattern: Pace] = [:]
  /// How long the last launches of each definition took, as far as this coordinator has seen.
  var runs: [IdentifierPattern: RunLengths] = [:]
  /// The host that each class has booked. `HostState.booking` has the rest.
  var bookings: [RequirementClass: HostName] = [:]
  /// How many hosts may still be examined for new bookings.
  var bookingBudget = 0
  /// How many hosts may still be examined for new savings of quotas.
  var savingBudget = 0
  var waitWatch = WaitWatch()
  /// When a person last used each definition, on the steady clock.
  package internal(set) var lastUses: [IdentifierPattern: Timestamp] = [:]
  /// When a person last used each definition, as far as the store was told.
  var keptUses: [IdentifierPattern: Timestamp] = [:]

  package init(leaseTerm: Duration, rules: DispatchRules = DispatchRules()) {
    (self.leaseTerm, self.rules) = (leaseTerm, rules)
    ledger = NamespaceLedger(rules.namespaces)
  }

  package struct ReadyClass: Hashable, Sendable {
    /// The turn in which the class was last served. The class that was served longest ago is next.
    var servedAt: Int
    /// When the class was last served, or came to have ready requests.
    var waitingSince: Instant
    /// The request that starts next, as far as is known.
    var first: First
    /// What the class remembers of its attempts to book a host.
    var longWait = LongWait()
    /// Hosts where, as the store answered, no ready request of the class may run, each with the instant until which
    /// this answer is used. The next news of the class clears them.
    var passedOver: [HostName: Instant] = [:]
    /// The number of the class's latest news. An answer "no request left" from before the latest news is ignored.
    var news: Int

    /// The first request of a class.
    struct First: Hashable, Sendable {
      /// nil if only the class is known, not its requests.
      var request: RequestID?
      /// Since when it waits, on the steady clock.
      var since: Timestamp
    }
  }
}

/// What the dispatcher knows about one host.
package struct HostState: Sendable {
  package enum Lease: Hashable, Sendable {
    /// The host has not said hello to this coordinator, or its lease has ended.
    case none
    /// The process holds the lease until `until`.
    case held(Incarnation, until: Instant)
    /// The lease has run out or was ended. The store is ending its launches; until then no launch may be assigned, and
    /// no message of the worker is accepted.
    case ending(Incarnation)
    /// Another coordinator owns the lease. What is known of the host is what the store said last.
    case elsewhere
  }

  package var host: Host
  package var version: String
  package var lease: Lease
  package var link: Link
  package var launches: [LaunchKey: RunningState]
  /// Launches that were asked to make room, with the priority of the class that needs the room. They count as long as
  /// they run.
  private var makingRoom: [(launch: LaunchKey, priority: Priority)] = []
  /// The highest number of a lease of this host that is known. News of the store about an earlier lease are old.
  package internal(set) var leaseNumber: Int64 = 0
  /// Whether the store has granted the lease that this coordinator holds, so that `leaseNumber` is its number.
  package internal(set) var isGranted = false
  /// The coordinator that owns the lease, if it is not this one, and whether the host is connected to it.
  package internal(set) var servedBy: (epoch: Int64, isConnected: Bool)?
  /// Launches that were claimed between a hello and its welcome. They are delivered after the welcome.
  var undelivered: [Assignment] = []
  /// The definitions that were sent on the current connection.
  var knownDefinitions: Set<DefinitionID> = []
  /// What is kept free here for a request that has waited long.
  var booking: Booking?
  /// What has been used of the host's own daily allowance, without the running launches.
  var use = DailyUse()
  /// Since when the connection has been away, as far as this coordinator saw it; nil after the host has been attached.
  var awaySince: Instant?
  var isDrainedByOperator = false
  /// Whether the host has said that no further file of a transfer fits on it.
  package internal(set) var isOutOfRoom = false
  /// The worker has said that it is shutting down.
  var isShuttingDown = false

  package enum Link: Hashable, Sendable {
    case away
    /// The worker has said hello, and the store is being told of its lease and asked which launches it runs. Nothing
    /// is claimed for the host before it is attached.
    case attaching
    case attached
  }

  package var isConnected: Bool { link != .away }

  /// Whether the worker is attached to this coordinator, or to another one, as far as that one has said.
  package var isPresent: Bool { lease == .elsewhere ? servedBy?.isConnected ?? true : link == .attached }

  package var incarnation: Incarnation? {
    switch lease {
    case .none, .elsewhere: nil
    case .held(let incarnation, _), .ending(let incarnation): incarnation
    }
  }

  /// The lease that this coordinator owns; nil if it owns none, or the store has not granted it yet.
  package var ownLease: HostLease? {
    guard isGranted, let incarnation else { return nil }
    return HostLease(host: host.name, incarnation: incarnation, number: leaseNumber)
  }
}

/// One launch on a host.
package struct RunningState: Hashable, Sendable {
  package var identifier: JobIdentifier
  package var requirementClass: RequirementClass
  package var gpus: [Int]
  /// Why the launch was asked to stop; the first reason stays.
  package var expiring: ExpiryReason?
  /// The launch ignored its deadline. It ends as expired when its worker's process is gone.
  var hasOverrun = false
  /// When the launch started, on the steady clock.
  var startedSteady: Timestamp
  /// When the launch last made progress, as far as this coordinator saw it.
  var progressAt: Instant
  /// When the launch committed its last batch, or when it started.
  var checkpointAt: Instant
  var completedUnits: Int64?
  var totalUnits: Int64?
  /// How many units were done when the launch started, or when this coordinator first saw it.
  var startUnits: Int64 = 0
  /// The index of the last reported batch. A batch that is reported again is no progress.
  var lastBatch: Int?
  /// The request has committed a batch, in this launch or before. It is false after a restart of the coordinator until
  /// the worker is back.
  var keepsCursor = false
  /// The launch has made no progress for suspiciously long.
  package internal(set) var isSuspect = false
  package var isSimulated: Bool
  /// The request of which the launch works on a shard; nil for a request's own shard.
  package var head: RequestID?

  package init(
    identifier: JobIdentifier, requirementClass: RequirementClass, gpus: [Int], expiring: ExpiryReason? = nil,
    isSimulated: Bool = false, startedSteady: Timestamp, seenAt: Instant
  ) {
    self.identifier = identifier
    self.requirementClass = requirementClass
    self.gpus = gpus
    self.expiring = expiring
    self.isSimulated = isSimulated
    self.startedSteady = startedSteady
    (progressAt, checkpointAt) = (seenAt, seenAt)
  }

  package init(_ assignment: Assignment, at now: Now) {
    self.init(
      identifier: assignment.identifier, requirementClass: assignment.requirementClass, gpus: assignment.gpus,
      expiring: assignment.pendingExpiry, isSimulated: assignment.isSimulated, startedSteady: now.steady,
      seenAt: now.instant)
    completedUnits = assignment.progress.completedUnits
    startUnits = assignment.progress.completedUnits
    keepsCursor = assignment.progress.batches > 0
    totalUnits = assignment.progress.totalUnits
    if assignment.head != assignment.launch.request { head = assignment.head }
  }

  mutating func delayStall(by delay: Duration) { progressAt = progressAt + delay }

  /// Takes over what was known about the launch before its worker reconnected. The time during which the worker was
  /// away counts neither as progress nor towards a stall.
  mutating func goOn(from known: RunningState, awaySince: Instant?) {
    startedSteady = known.startedSteady
    isSuspect = known.isSuspect
    hasOverrun = known.hasOverrun
    lastBatch = known.lastBatch
    startUnits = known.startUnits
    completedUnits = known.completedUnits ?? completedUnits
    guard let awaySince else { return }
    let away = progressAt - awaySince
    progressAt = known.progressAt + away
    checkpointAt = known.checkpointAt + away
  }
}

extension Dispatcher {
  /// Changes or reads the state of a host in place, without a copy.
  /// - Returns: the result of `body`; nil if the host is not known.
  @discardableResult
  mutating func change<Result>(_ host: HostName, _ body: (inout HostState) -> Result) -> Result? {
    guard let index = hosts.index(forKey: host) else { return nil }
    return body(&hosts.values[index])
  }

  /// The names of the hosts that satisfy `condition`, sorted. The states are examined in place, because copies and
  /// sorting would be most of the cost of a tick in a large fleet.
  mutating func hostNames(where condition: (inout HostState) -> Bool) -> [HostName] {
    var names: [HostName] = []
    var index = hosts.values.startIndex
    while index != hosts.values.endIndex {
      if condition(&hosts.values[index]) { names.append(hosts.keys[index]) }
      hosts.values.formIndex(after: &index)
    }
    return names.sorted()
  }

  /// The request to which a row belongs: itself, or the request whose shard it is.
  package func whole(_ row: RequestID) -> RequestID { heads[row] ?? row }

  /// The launches of a request and of its shards that run, in their order.
  package func launches(of request: RequestID) -> [LaunchKey] { active[request]?.launches.sorted() ?? [] }

  package mutating func learn(_ id: DefinitionID, _ definition: Definition) { definitions[id] = definition }

  /// The definitions of ready classes that the dispatcher has not learned yet. Requests of these classes do not start
  /// before `learn`.
  package var unlearned: [DefinitionID] {
    // This is called before each round, and usually all definitions are known.
    guard ready.keys.contains(where: { definitions[$0.definition] == nil }) else { return [] }
    return Set(ready.keys.map(\.definition)).filter { definitions[$0] == nil }.sorted()
  }

  /// Notes that a request of this class is ready, or may be ready.
  /// - Parameter first: the first request of the class, if the store has said which one it is.
  package mutating func noteReady(_ requirementClass: RequirementClass, first: WaitingHead? = nil) {
    newsCount += 1
    let known = ready[requirementClass]
    ready[requirementClass] = ReadyClass(
      servedAt: known?.servedAt ?? turn, waitingSince: known?.waitingSince ?? now.instant,
      first: known?.first ?? ReadyClass.First(since: now.steady), longWait: known?.longWait ?? LongWait(),
      news: newsCount)
    if let first { noteFirst(first, of: requirementClass) }
  }

  /// Notes which request of the class starts next.
  mutating func noteFirst(_ first: WaitingHead, of requirementClass: RequirementClass) {
    guard let known = ready[requirementClass]?.first else { return }
    // A request that waited for a date waits since it was first seen in its place: by the wall clock, which is left
    // out here, it could have waited for years.
    let seen = known.request == first.request || known.request == nil ? known.since : now.steady
    ready[requirementClass]?.first = ReadyClass.First(request: first.request, since: first.since ?? seen)
  }

  package mutating func setPaused(_ paused: Bool) -> [Effect] {
    isPaused = paused
    if paused { return hosts.keys.sorted().flatMap { expireAll(on: $0, .paused) } }
    for requirementClass in ready.keys { ready[requirementClass]?.passedOver = [:] }
    return []
  }
}

extension HostState {
  /// The obstacles that keep a launch off this host now. A worker whose connection is away at the moment gets no
  /// launches.
  /// - Parameters:
  ///   - priority: the priority of the request; nil stands for the priority of its definition.
  ///   - principal: who submitted the request, if that is known.
  ///   - asker: what its class tells the host; nil leaves out what is booked here.
  func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, _ priority: Priority? = nil,
    by principal: String? = nil, asker: Dispatcher.Asker? = nil
  ) -> [Obstacle] {
    var found = Policy.obstacles(for: definition, identifier, by: principal, on: host)
    if isGivingWay(over: priority ?? definition.priority) { found.append(.givingWay) }
    if let reserved = obstacle(of: asker, for: definition.requirements) { found.append(reserved) }
    // The connection of a host that another coordinator serves is not known here.
    return host.hasLease && !isPresent ? [.hostAway] + found : found
  }

  /// True if launches on this host were asked to make room for a class of a higher priority than this one. Their
  /// places are meant for that class.
  private func isGivingWay(over priority: Priority) -> Bool {
    makingRoom.contains { $0.priority > priority && launches[$0.launch]?.expiring == .preempted }
  }

  /// Notes that the lease ran out or was given back. A worker that shut down is gone then, so it no longer counts as
  /// draining.
  mutating func loseLease() {
    host.hasLease = false
    isShuttingDown = false
    host.isDraining = isDrainedByOperator
  }

  mutating func makesRoom(_ launch: LaunchKey, for priority: Priority) {
    makingRoom.removeAll { $0.launch == launch || launches[$0.launch] == nil }
    makingRoom.append((launch, priority))
  }

  /// The state of a host of which only the name is known.
  static func unknown(_ name: HostName) -> HostState {
    HostState(
      host: Host(name: name, capabilities: Capabilities(slots: 0), conditions: .assumed, hasLease: false),
      version: "", lease: .none, link: .away, launches: [:])
  }
}
