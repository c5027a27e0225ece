package import BatonModel
package import BatonStore

/// Decides what a coordinator does: what it asks of its store, what follows from each answer, and what workers are told.
/// A value around `Dispatcher`, without a clock, a store, a connection or chance in it. Whoever drives it (the daemon's
/// `Coordinator`, or the simulator) tells it facts, and then performs `effects`, in that order.
///
/// The store is asked by orders. The core keeps them in order: at most one claim, one promotion and one group of its work
/// queue are open at a time. The driver carries out each order that it gets, at once and side by side with the others, and
/// tells the outcome with `stored` or `failed`; an order whose outcome is never told holds up those behind it.
package struct CoordinatorCore: Sendable {
  package enum Effect: Sendable {
    // Those that are large and rare are indirect, so that effects stay small.

    /// Messages of one session arrive in the order of these effects.
    case send(SessionID, CoordinatorMessage)
    /// Says how far the store is by now.
    case sendReceipt(SessionID)
    /// The worker gets no more messages on this connection, which ends: tell it with `closed`.
    case close(SessionID)
    /// The core knows nothing of this session any more, and asks nothing more for it.
    case forget(SessionID)
    /// Calls `dispatch` soon. Asked for once until then, however often there is a reason.
    case dispatch
    /// Carries out the order after this time, zero for at once.
    case store(StoreOrder, after: Duration)
    /// For logs, metrics and those who watch a request; may be said after the other effects.
    case tell(Fact)
  }

  /// What people and metrics are told. The store has committed everything that these say of launches.
  package enum Fact: Sendable {
    case attached(HostName, running: Int)
    case refused(HostName, address: String, String)
    /// As another process than the one that holds the lease.
    case cameBack(HostName)
    case checkpointed([Checkpoint], [CheckpointAnswer])
    case changed(RequestID)
    case started([Assignment])
    indirect case askedToStop(LaunchSubject, ExpiryReason)
    case ended([EndingAnswer])
    /// The launch did not stop by its deadline, and was killed.
    indirect case overran(EndingAnswer)
    /// The store is being told of it.
    case leaseEnded(HostName, Incarnation, countsAsLoss: Bool)
    /// The store did not carry an order out.
    case failed(StoreOrder, StoreError)
  }

  package internal(set) var dispatcher: Dispatcher
  /// The definitions that are applied now.
  package internal(set) var index = DefinitionIndex()
  /// Texts and progress between checkpoints, of running launches.
  package internal(set) var updates: [LaunchKey: LaunchUpdate] = [:]
  /// When the next scheduled request may become ready.
  var nextDue = NextDue()
  var isPromoting = false
  /// Every connection that has said hello.
  var sessions: [SessionID: Session] = [:]
  /// Those that are not attached yet, the oldest first.
  var unattached: [HostName: [SessionID]] = [:]
  /// Those that are attached: of each host the last one.
  var connections: [HostName: SessionID] = [:]
  package internal(set) var lastSeen: [HostName: Timestamp] = [:]
  /// When each host's conditions came.
  package internal(set) var conditionsCame: [HostName: Instant] = [:]
  /// The host of the worker in this process, whose launches are blameless when the process ends.
  let embeddedHost: HostName?
  var dispatching = Dispatching.idle
  var work = WorkQueue()
  /// What has to happen because of the facts since `clearEffects`, in order.
  package private(set) var effects: [Effect] = []

  /// How long an order waits that a passing error of the store held up: a full disk is not asked all the time.
  static let retryInterval = Duration.milliseconds(500)
  /// Launches claimed in one transaction, at most.
  static let claimLimit = 512
  /// Requests made ready in one transaction, at most.
  package static let promotionLimit = 10_000

  package init(leaseTerm: Duration, embeddedHost: HostName? = nil) {
    dispatcher = Dispatcher(leaseTerm: leaseTerm)
    self.embeddedHost = embeddedHost
  }

  /// Takes over the store's state at a start, before anything else.
  package mutating func restore(_ fleet: FleetRecord, _ definitions: [StoredDefinition], at now: Now) {
    index = DefinitionIndex(definitions)
    nextDue = fleet.nextDue
    for host in fleet.hosts { lastSeen[host.name] = host.lastSeenAt }
    dispatcher.restore(fleet, at: now)
    wantDispatch()
  }

  /// The driver has performed them all.
  package mutating func clearEffects() { effects.removeAll(keepingCapacity: effects.count < Self.usualEffects) }

  /// Room for so many is kept: most facts have a few, and some, such as the end of a large host, have thousands.
  private static let usualEffects = 64

  mutating func add(_ effect: Effect) { effects.append(effect) }

  mutating func tell(_ fact: Fact) { effects.append(.tell(fact)) }

  // MARK: Time

  /// Call it every `tickInterval`, as `Dispatcher.tick` explains.
  package mutating func tick(at now: Now) {
    perform(dispatcher.tick(at: now))
    promoteIfDue(at: now.moment)
    wantDispatch()
  }

  /// The store's answer says when the next time is, so this one is forgotten.
  private mutating func promoteIfDue(at now: Moment) {
    guard !isPromoting, nextDue.hasCome(at: now) else { return }
    nextDue = NextDue()
    isPromoting = true
    add(.store(.promote, after: .zero))
  }

  // MARK: The dispatcher

  /// Changes the dispatcher and takes over what it decides; false if it decided nothing.
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
      case .endLease(let host, let incarnation, let countsAsLoss):
        tell(.leaseEnded(host, incarnation, countsAsLoss: countsAsLoss))
        put(.endLease(host, incarnation, countsAsLoss: countsAsLoss))
      case .noteExpiry(let launch, let reason, let process): put(.noteExpiry(launch, reason, from: process))
      case .note(let request, let event, let detail): put(.note(request, event: event, detail: detail))
      case .noteUse(let pattern, let date):
        if work.uses.isEmpty { put(.noteUses([:])) }
        work.uses[pattern] = date
      }
    }
  }
}
