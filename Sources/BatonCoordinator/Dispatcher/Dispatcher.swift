package import BatonModel

/// Decides which launches start where, which end, and what every worker is told: a value without a clock, a store or a
/// connection. Whoever drives it (the daemon or the simulator) gives it facts and performs the effects, in their order.
package struct Dispatcher: Sendable {
  /// What has to happen because of a fact.
  package enum Effect: Hashable, Sendable {
    case send(HostName, CoordinatorMessage)
    /// The host gets no more messages on its present connection, which ends.
    case disconnect(HostName)
    /// The store ends this lease, and its launches as lost; the answer is `leaseEnded`.
    case endLease(HostName, Incarnation, countsAsLoss: Bool)
    /// The store remembers that the launch was asked to stop.
    /// `from` is the worker that decided it; nil if it was decided here.
    case noteExpiry(LaunchKey, ExpiryReason, from: WorkerProcess? = nil)
    /// The store adds to the history of the request.
    case note(RequestID, event: RequestEvent, detail: String)
    /// The store remembers that a person used the definition then, on the steady clock.
    case noteUse(IdentifierPattern, at: Timestamp)
  }

  package var leaseTerm: Duration
  package internal(set) var hosts: [HostName: HostState] = [:]
  package internal(set) var definitions: [DefinitionID: Definition] = [:]
  package internal(set) var isPaused = false
  /// Classes that may have ready requests.
  package internal(set) var ready: [RequirementClass: ReadyClass] = [:]
  /// Launches that run, by the pattern of their definition: what `maxRunning` counts.
  var runningByPattern: [IdentifierPattern: Int] = [:]
  /// Where each launch runs.
  package internal(set) var places: [LaunchKey: HostName] = [:]
  /// Claims that the store has not answered yet, and what was decided about their launches before that.
  var openClaims = OpenClaims()
  var turn = 0
  /// Counted over all classes, so that a class that was forgotten and came back has news that nobody saw before.
  var newsCount = 0
  var grantCount = 0
  var lastTickAt: Instant?
  /// No lease ends before then: those that are held were looked at, and a new or renewed one runs for a whole term.
  var noLeaseEndsBefore: Instant?
  /// Moves with ticks: what is measured here is as exact as they come.
  package internal(set) var now = Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 0))
  /// What is used of the daily allowances of definitions, without the launches that run.
  var use: [IdentifierPattern: DailyUse] = [:]
  /// What is known of how long batches take.
  var paces: [IdentifierPattern: Pace] = [:]
  var waitWatch = WaitWatch()
  /// When a person used each definition last, on the steady clock.
  package internal(set) var lastUses: [IdentifierPattern: Timestamp] = [:]
  /// The same, as the store was told it last.
  var keptUses: [IdentifierPattern: Timestamp] = [:]

  package struct ReadyClass: Hashable, Sendable {
    /// The turn in which it was served last: the one that waited longest is next.
    var servedAt: Int
    /// When it was served last, or came to have ready requests.
    var waitingSince: Instant
    /// Hosts that nothing of it may run on now, as the store said, until when that is believed; its next news end that.
    var passedOver: [HostName: Instant] = [:]
    /// The number of its last news, so that "none left" from before the last news is not believed.
    var news: Int
  }

  package init(leaseTerm: Duration) { self.leaseTerm = leaseTerm }
}

/// What the dispatcher knows of one host.
package struct HostState: Sendable {
  package enum Lease: Hashable, Sendable {
    /// Never said hello to this coordinator, or its lease ended.
    case none
    /// Runs until then.
    case held(Incarnation, until: Instant)
    /// Ran out: the store is ending its launches, and nothing may be assigned or accepted until it has.
    case ending(Incarnation)
  }

  package var host: Host
  package var version: String
  package var lease: Lease
  package var link: Link
  package var launches: [LaunchKey: RunningState]
  /// Launches that were asked to make room, and the priority of whom it is for. They count as long as they run.
  private var makingRoom: [(launch: LaunchKey, priority: Priority)] = []
  /// The number of the present lease: a process that lost one and came back holds another.
  var grant = 0
  /// Claimed between a hello and its welcome: they are delivered after the welcome.
  var undelivered: [Assignment] = []
  /// Definitions that the present connection has been sent.
  var knownDefinitions: Set<DefinitionID> = []
  /// What is used of the host's own daily allowance, without the launches that run.
  var use = DailyUse()
  /// Since when its connection is away.
  var awaySince: Instant?
  var isDrainedByOperator = false
  /// By the worker's own word.
  var isShuttingDown = false

  package enum Link: Hashable, Sendable {
    case away
    /// Said hello; the store is being told of its lease and asked what it runs. Nothing is claimed for it before that.
    case attaching
    case attached
  }

  package var isConnected: Bool { link != .away }

  package var incarnation: Incarnation? {
    switch lease {
    case .none: nil
    case .held(let incarnation, _), .ending(let incarnation): incarnation
    }
  }
}

/// One launch on a host.
package struct RunningState: Hashable, Sendable {
  package var identifier: JobIdentifier
  package var requirementClass: RequirementClass
  package var gpus: [Int]
  /// Why it was asked to stop; the first reason stays.
  package var expiring: ExpiryReason?
  /// It ignored its deadline: it has expired once its worker's process is gone.
  var hasOverrun = false
  /// On the steady clock.
  var startedSteady: Timestamp
  /// When it got further last, as far as this coordinator saw it.
  var progressAt: Instant
  /// When it committed its last batch, or began.
  var checkpointAt: Instant
  var completedUnits: Int64?
  var totalUnits: Int64?
  /// Index of the last batch that was heard of: one that is said again is no progress.
  var lastBatch: Int?
  /// The request has committed a batch, in this launch or before. False after a restart of the coordinator until the
  /// worker is back.
  var keepsCursor = false
  /// It has not got further for suspiciously long.
  package internal(set) var isSuspect = false
  package var isSimulated: Bool

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
    keepsCursor = assignment.progress.batches > 0
    totalUnits = assignment.progress.totalUnits
  }

  /// A launch that was known before its worker came back: the time that it was away is nobody's fault, and no progress.
  mutating func goOn(from known: RunningState, awaySince: Instant?) {
    startedSteady = known.startedSteady
    isSuspect = known.isSuspect
    hasOverrun = known.hasOverrun
    lastBatch = known.lastBatch
    guard let awaySince else { return }
    let away = progressAt - awaySince
    progressAt = known.progressAt + away
    checkpointAt = known.checkpointAt + away
  }
}

extension Dispatcher {
  /// Changes or looks at what is known of a host where it is, without a copy of it; nil if it is not known.
  @discardableResult
  mutating func change<Result>(_ host: HostName, _ body: (inout HostState) -> Result) -> Result? {
    guard let index = hosts.index(forKey: host) else { return nil }
    return body(&hosts.values[index])
  }

  /// The hosts that are as `condition` says, sorted by name. They are looked at where they are: in a large fleet copies
  /// and sorting would be most of what a tick costs.
  mutating func hostNames(where condition: (inout HostState) -> Bool) -> [HostName] {
    var names: [HostName] = []
    var index = hosts.values.startIndex
    while index != hosts.values.endIndex {
      if condition(&hosts.values[index]) { names.append(hosts.keys[index]) }
      hosts.values.formIndex(after: &index)
    }
    return names.sorted()
  }

  package mutating func learn(_ id: DefinitionID, _ definition: Definition) { definitions[id] = definition }

  /// Definitions that ready classes name and nobody has told yet: nothing of them starts before `learn`.
  package var unlearned: [DefinitionID] {
    // Asked before each round, and mostly there are none.
    guard ready.keys.contains(where: { definitions[$0.definition] == nil }) else { return [] }
    return Set(ready.keys.map(\.definition)).filter { definitions[$0] == nil }.sorted()
  }

  /// A request of this class is, or may be, ready.
  package mutating func noteReady(_ requirementClass: RequirementClass) {
    newsCount += 1
    let known = ready[requirementClass]
    ready[requirementClass] = ReadyClass(
      servedAt: known?.servedAt ?? turn, waitingSince: known?.waitingSince ?? now.instant, news: newsCount)
  }

  package mutating func setPaused(_ paused: Bool) -> [Effect] {
    isPaused = paused
    guard paused else { return [] }
    return hosts.keys.sorted().flatMap { expireAll(on: $0, .paused) }
  }
}

extension HostState {
  /// What keeps a launch off this host now; a worker whose connection is away for the moment takes nothing.
  /// - Parameter priority: of the request; nil stands for its definition's.
  package func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, _ priority: Priority? = nil
  ) -> [Obstacle] {
    var found = Policy.obstacles(for: definition, identifier, on: host)
    if isGivingWay(over: priority ?? definition.priority) { found.append(.givingWay) }
    return host.hasLease && link != .attached ? [.hostAway] + found : found
  }

  /// Launches there were asked to make room for somebody of a higher priority than this, who gets their places.
  private func isGivingWay(over priority: Priority) -> Bool {
    makingRoom.contains { $0.priority > priority && launches[$0.launch]?.expiring == .preempted }
  }

  /// Its lease ran out or was given back. A worker that shut down is gone then; it does not drain any more.
  mutating func loseLease() {
    host.hasLease = false
    isShuttingDown = false
    host.isDraining = isDrainedByOperator
  }

  mutating func makesRoom(_ launch: LaunchKey, for priority: Priority) {
    makingRoom.removeAll { $0.launch == launch || launches[$0.launch] == nil }
    makingRoom.append((launch, priority))
  }

  /// A host that is known by name only.
  static func unknown(_ name: HostName) -> HostState {
    HostState(
      host: Host(name: name, capabilities: Capabilities(slots: 0), conditions: .assumed, hasLease: false),
      version: "", lease: .none, link: .away, launches: [:])
  }
}
