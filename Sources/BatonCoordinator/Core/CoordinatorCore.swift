package import BatonModel
package import BatonStore

/// Decides what a coordinator does: which orders it gives its store, what follows from each answer, and which messages
/// workers get. It is a value around `Dispatcher` and contains no clock, store, connection or random numbers. Its
/// driver (the daemon's `Coordinator`, or the simulator) tells it facts and then performs `effects` in their order.
///
/// The core gives the store orders. At any time at most one claim, one promotion and one group of its work queue are
/// open. The driver carries out each order as soon as it gets the order, concurrently with the other open orders, and
/// tells the outcome with `stored` or `failed`. The orders behind an order wait until its outcome is told.
package struct CoordinatorCore: Sendable {
  package enum Effect: Sendable {
    // Cases that are large and rare are indirect, to keep effects small.

    /// Sends the message to the worker. Messages of one session are sent in the order of these effects.
    case send(SessionID, CoordinatorMessage)
    /// Sends the store's current receipt to the worker.
    case sendReceipt(SessionID)
    /// Closes the connection. The worker gets no more messages on it. When the connection has ended, the driver calls
    /// `closed`.
    case close(SessionID)
    /// The core has dropped this session and gives no more orders for it.
    case forget(SessionID)
    /// Asks the driver to call `dispatch` soon. The effect is emitted once until `dispatch` is called, however many
    /// reasons there are.
    case dispatch
    /// Carries out the order after the given delay; `.zero` means at once.
    case store(StoreOrder, after: Duration)
    /// A fact for logs, metrics and watchers of a request. The driver may tell it after it has performed the other
    /// effects.
    case tell(Fact)
  }

  /// What people and metrics are told. The store has already committed everything that a fact says about launches.
  package enum Fact: Sendable {
    case attached(HostName, running: Int)
    case refused(HostName, address: String, String)
    /// The worker may not have the host's name.
    case nameRefused(HostName, address: String, String)
    /// The store does not reach this receipt, which its key did not sign.
    case unprovenReceipt(HostName, Receipt)
    case cameFromAnotherStore(HostName)
    /// The store lacks something that it has acknowledged. It has another name, and the fleet is paused.
    case wentBackwards(String)
    /// The worker came back as another process than the one that holds the lease.
    case cameBack(HostName)
    case checkpointed([Checkpoint], [CheckpointAnswer])
    case changed(RequestID)
    case started([Assignment])
    indirect case askedToStop(LaunchSubject, ExpiryReason)
    case ended([EndingAnswer])
    /// The launch did not stop by its deadline and was killed.
    indirect case overran(EndingAnswer)
    /// A lease has ended. The store has been given the order to end it, but may not have carried it out yet.
    case leaseEnded(HostLease, countsAsLoss: Bool)
    /// Another coordinator, or another worker process, has the host now. Nothing of it has ended.
    case leaseMoved(HostLease)
    /// This coordinator has ended the tenure of another one, whose beat stood still.
    case coordinatorEnded(epoch: Int64)
    /// The store did not carry out an order.
    case failed(StoreOrder, StoreError)
  }

  package internal(set) var dispatcher: Dispatcher
  /// The definitions that are applied now.
  package internal(set) var index = DefinitionIndex()
  /// Titles and progress that running launches have reported since their last checkpoint.
  package internal(set) var updates: [LaunchKey: LaunchUpdate] = [:]
  /// The launches whose updates other coordinators do not know yet.
  var untoldUpdates: Set<LaunchKey> = []
  /// When the next scheduled request may become ready.
  var nextDue = NextDue()
  var isPromoting = false
  /// Whether another promotion follows the open one.
  var promotesAgain = false
  var standing: Standing
  /// Every connection on which a worker has said hello.
  var sessions: [SessionID: Session] = [:]
  /// Those that are not attached yet, the oldest first.
  var unattached: [HostName: [SessionID]] = [:]
  /// The attached session of each host; the newest session if a host has several.
  var connections: [HostName: SessionID] = [:]
  /// When each host was last heard of.
  package internal(set) var lastSeen: [HostName: Timestamp] = [:]
  /// When the coordinator last received each host's conditions.
  package internal(set) var conditionsCame: [HostName: Instant] = [:]
  /// The host of the worker that runs inside this process. When the process ends, the launches of that host do not
  /// count as losses.
  let embeddedHost: HostName?
  var dispatching = Dispatching.idle
  var work = WorkQueue()
  /// The effects that were decided since the last `clearEffects`, in order.
  package private(set) var effects: [Effect] = []

  /// How long an order waits before it is tried again after a passing error of the store. The delay keeps the
  /// coordinator from asking a full disk all the time.
  static let retryInterval = Duration.milliseconds(500)
  /// The most launches that are claimed in one transaction.
  static let claimLimit = 512
  /// The most requests that are made ready in one transaction.
  package static let promotionLimit = 10_000

  /// - Parameters:
  ///   - isShared: whether other coordinators can have the store open.
  ///   - coordinatorTerm: how long a coordinator may be silent before another one takes over.
  package init(
    leaseTerm: Duration, embeddedHost: HostName? = nil, isShared: Bool = false,
    coordinatorTerm: Duration = .seconds(5), rules: DispatchRules = DispatchRules()
  ) {
    dispatcher = Dispatcher(leaseTerm: leaseTerm, rules: rules)
    standing = Standing(isShared: isShared, term: coordinatorTerm)
    self.embeddedHost = embeddedHost
  }

  /// Takes over the store's state at the start of the coordinator. Call it before anything else.
  package mutating func restore(_ fleet: FleetRecord, _ definitions: [StoredDefinition], at now: Now) {
    index = DefinitionIndex(definitions)
    nextDue = fleet.nextDue
    for host in fleet.hosts { lastSeen[host.name] = host.lastSeenAt }
    standing.definitionsVersion = fleet.definitionsVersion
    standing.epoch = fleet.epoch
    if standing.isShared { standing.isSteward = fleet.steward == fleet.epoch }
    if !standing.isSteward { standing.clockBefore = fleet.clock }
    perform(dispatcher.restore(fleet, at: now))
    wantDispatch()
  }

  /// Removes all effects. The driver calls it when it has performed them.
  package mutating func clearEffects() { effects.removeAll(keepingCapacity: effects.count < Self.usualEffects) }

  /// The array of effects keeps its capacity below this count. Most facts cause a few effects; some, such as the end
  /// of a large host, cause thousands.
  private static let usualEffects = 64

  mutating func add(_ effect: Effect) { effects.append(effect) }

  mutating func tell(_ fact: Fact) {
    // People watch requests, and launches belong to shards of them.
    if case .changed(let row) = fact { return effects.append(.tell(.changed(dispatcher.whole(row)))) }
    effects.append(.tell(fact))
  }

  // MARK: Time

  /// Lets the core act on the passage of time. Call it every `tickInterval`, as `Dispatcher.tick` explains.
  package mutating func tick(at now: Now) {
    if standing.isShared { keepStanding(at: now.instant, since: dispatcher.lastTickAt) }
    perform(dispatcher.tick(at: now))
    promoteIfDue(at: now.moment)
    wantDispatch()
  }

  /// Starts a promotion, because requests may be ready now. If one is open, another one follows.
  mutating func promoteSoon() {
    guard standing.isSteward else { return }
    if isPromoting {
      promotesAgain = true
      return
    }
    nextDue = NextDue()
    isPromoting = true
    add(.store(.promote, after: .zero))
  }

  /// Starts a promotion if its time has come. It resets `nextDue`, because the store's answer to the promotion says
  /// when the next one is due.
  private mutating func promoteIfDue(at now: Moment) {
    guard !isPromoting, standing.isSteward, nextDue.hasCome(at: now) else { return }
    nextDue = NextDue()
    isPromoting = true
    add(.store(.promote, after: .zero))
  }

  // MARK: The dispatcher

  /// Changes the dispatcher and performs what it decides.
  /// - Returns: false if the dispatcher decided nothing.
  @discardableResult
  package mutating func decide(_ body: (inout Dispatcher) throws -> [Dispatcher.Effect]) rethrows -> Bool {
    let decided = try body(&dispatcher)
    perform(decided)
    return !decided.isEmpty
  }

  mutating func perform(_ decided: [Dispatcher.Effect]) {
    for effect in decided {
      switch effect {
      case .send(let host, let message): connections[host].map { add(.send($0, message)) }
      case .disconnect(let host): connections[host].map { add(.close($0)) }
      case .endLease(let lease, let countsAsLoss):
        tell(.leaseEnded(lease, countsAsLoss: countsAsLoss))
        put(.endLease(lease, countsAsLoss: countsAsLoss))
      case .endLeaseElsewhere(let process, let countsAsLoss):
        if standing.isShared { put(.endLeaseElsewhere(process, countsAsLoss: countsAsLoss)) }
      case .noteExpiry(let launch, let reason, let process):
        let host = process == nil ? dispatcher.places[launch] : nil
        // Read in place: when the fleet is paused, every launch expires at once.
        let lease = host.flatMap { dispatcher.change($0) { $0.ownLease } } ?? nil
        put(.noteExpiry(launch, reason, from: process, under: lease))
      case .note(let request, let event, let detail): put(.note(request, event: event, detail: detail))
      case .noteUse(let pattern, let date):
        // The order may start at once, and takes the uses that are there then.
        let isQueued = !work.uses.isEmpty
        work.uses[pattern] = date
        if !isQueued { put(.noteUses([:])) }
      }
    }
  }
}
