package import BatonModel
package import BatonStore

/// An order of the core to the store. The driver reads the clock when it carries the order out.
package enum StoreOrder: Sendable {
  /// Reads definitions that this coordinator has not read yet: those of ready requests, or, with a session, those of
  /// the launches of its host.
  case learn([DefinitionID], for: SessionID?)
  case claim([Claim], for: [Dispatcher.Reservation])
  case promote
  /// Reads which classes have ready requests, and when the next scheduled request is due.
  case findReady
  /// Ends launches that overran their deadlines, before the lease of their process ends.
  case endOverrun([Ending], WorkerProcess)
  case endLease(HostLease, countsAsLoss: Bool)
  /// Ends the lease of a process that has died, which another coordinator may own.
  case endLeaseElsewhere(WorkerProcess, countsAsLoss: Bool)
  /// Records that the worker's connection of this number is gone.
  case noteAway(HostLease, link: Int64)
  /// Records that a launch was asked to stop, by its worker's process or (nil) by the coordinator. A coordinator that
  /// decides because it serves the host names its lease.
  case noteExpiry(LaunchKey, ExpiryReason, from: WorkerProcess?, under: HostLease?)
  case note(RequestID, event: RequestEvent, detail: String)
  case noteReports([HostLease: HostWord])
  case noteUses([IdentifierPattern: Timestamp])
  /// Shows the other coordinators that this one lives. The steward keeps its clock for them.
  case beat(keepsClock: Bool)
  /// Ends the tenure of a coordinator whose beat stands still.
  case endCoordinator(Int64, silentSince: Int64)
  /// Reads what other coordinators have changed. No operator's word may be stored while this order is carried out and
  /// its answer is told.
  case readFleet
  case readDefinitions

  // Orders for a worker's connection. The daemon carries them out in the task of the connection.

  // Indirect, to keep orders small: there are many orders, and few of these kinds.

  /// Asks what the store knows of the worker that said hello.
  indirect case examine(SessionID, Hello, Proof)
  /// Gives a store that went backwards another name, unless it has one since. No operator's word may be stored while
  /// this order is carried out and its answer is told.
  indirect case renew(SessionID, incarnation: String, as: String)
  indirect case grantLease(SessionID, Hello, secret: [UInt8]?)
  /// Reads the launches that the store believes to run on the host.
  case readAssignments(SessionID, HostName)
  case appendItems(SessionID, ItemPage, WorkerProcess)
  /// Reads up to `count` items, beginning at the start of the page. The page's own items are empty.
  case readItems(SessionID, ItemPage, count: Int, WorkerProcess)
  case appendOutput(SessionID, [OutputChunk], WorkerProcess)
  case checkpoint(SessionID, [Checkpoint], WorkerProcess)
  case end(SessionID, [Ending], after: [Checkpoint], WorkerProcess)
  /// Submits what launches wish. The shell carries it out, because the core plans each submission.
  case submit(SessionID, [SubmittingLaunch], WorkerProcess)
}

/// An order that was carried out, with the store's answer.
package enum StoreNews: Sendable {
  case learned([DefinitionID], [DefinitionID: Definition], for: SessionID?)
  case claimed([Dispatcher.Reservation], [ClaimAnswer])
  case promoted(Promotion)
  case foundReady(ReadyRecord)
  case overrunEnded([EndingAnswer])
  case leaseEnded(HostLease, [EndingAnswer])
  case leaseEndedElsewhere(WorkerProcess, [EndingAnswer])
  case awayNoted
  /// The subject is nil if the launch had ended, or does not run on the process that reported the expiry.
  case expiryNoted(LaunchKey, ExpiryReason, LaunchSubject?)
  case noted(RequestID)
  case reportsNoted
  case usesNoted
  case beaten(Beat)
  case coordinatorEnded(Int64)
  case fleetRead(FleetRecord)
  case definitionsRead([StoredDefinition], version: Int64)
  case examined(SessionID, Examination)
  case renewed(SessionID, isNews: Bool)
  case leaseGranted(SessionID, LeaseGrant)
  case assignmentsRead(SessionID, [Assignment])
  case itemsAppended(SessionID, ItemPage, ItemsAnswer, of: HostName)
  /// The items are nil if the launch does not run on the process that asked.
  case itemsRead(SessionID, ItemPage, [String]?, of: HostName)
  case outputAppended(SessionID, of: Set<RequestID>)
  case checkpointed(SessionID, [Checkpoint], [CheckpointAnswer], of: HostName)
  case ended(SessionID, [Ending], after: [Checkpoint], [EndingAnswer], of: HostName)
  case submitted(SessionID, [AnsweredLaunch], of: HostName)
}

extension StoreOrder {
  /// Carries out the order in an open transaction, for the simulator. The daemon's version is in
  /// `Coordinator+Orders.swift`.
  package func run(on verbs: Verbs, at reading: ClockReading) throws -> StoreNews {
    let now = reading.moment
    switch self {
    case .beat(let keepsClock): return .beaten(try verbs.beat(keepsClock ? reading : nil))
    case .endCoordinator(let epoch, let beat):
      try verbs.end(coordinator: epoch, silentSince: beat)
      return .coordinatorEnded(epoch)
    case .readFleet: return .fleetRead(try verbs.fleet())
    case .readDefinitions:
      return .definitionsRead(try verbs.definitions(), version: try verbs.fleet().definitionsVersion)
    case .noteAway(let lease, let link):
      try verbs.noteAway(lease, link: link)
      return .awayNoted
    case .endLeaseElsewhere(let process, let countsAsLoss):
      return .leaseEndedElsewhere(process, try verbs.endLease(of: process, countsAsLoss: countsAsLoss, at: now))
    case .learn(let ids, let session):
      var found: [DefinitionID: Definition] = [:]
      for id in ids { found[id] = try verbs.definition(id) }
      return .learned(ids, found, for: session)
    case .claim(let claims, let reservations): return .claimed(reservations, try verbs.claim(claims, at: now))
    case .promote: return .promoted(try verbs.promote(at: now, limit: CoordinatorCore.promotionLimit))
    case .findReady: return .foundReady(try verbs.ready())
    case .endOverrun(let endings, let process):
      return .overrunEnded(try verbs.end(endings, from: process, at: now))
    case .endLease(let lease, let countsAsLoss):
      return .leaseEnded(lease, try verbs.endLease(lease, countsAsLoss: countsAsLoss, at: now))
    case .noteExpiry(let launch, let reason, let process, let lease):
      let subject = try verbs.noteExpiry(launch, reason, from: process, under: lease, at: now)
      return .expiryNoted(launch, reason, subject)
    case .note(let request, let event, let detail):
      try verbs.note(event, detail: detail, of: request, at: now)
      return .noted(request)
    case .noteReports(let reports):
      try verbs.noteReports(reports, at: now)
      return .reportsNoted
    case .noteUses(let uses):
      try verbs.noteUses(uses)
      return .usesNoted
    case .examine(let id, let hello, let proof):
      let examination = Examination(
        secret: try verbs.standing(of: hello.host, secret: proof.secret),
        receipts: try verbs.standing(of: hello.receipts))
      return .examined(id, examination)
    case .renew(let id, let incarnation, let name):
      return .renewed(id, isNews: try verbs.renewIncarnation(of: incarnation, as: name))
    case .grantLease(let id, let hello, let secret):
      let grant = try verbs.grantLease(
        hello.host, hello.incarnation, link: Int64(id.number), secret: secret, report: hello.word, at: now)
      return .leaseGranted(id, grant)
    case .readAssignments(let id, let host): return .assignmentsRead(id, try verbs.assignments(on: host))
    case .appendItems(let id, let page, let process):
      return .itemsAppended(id, page, try verbs.appendItems(page, from: process, at: now), of: process.host)
    case .readItems(let id, let page, let count, let process):
      let items = try verbs.items(of: page.launch, for: process, start: page.start, count: count)
      return .itemsRead(id, page, items, of: process.host)
    case .appendOutput(let id, let chunks, let process):
      try verbs.appendOutput(chunks, from: process)
      return .outputAppended(id, of: Set(chunks.map(\.launch.request)))
    case .checkpoint(let id, let checkpoints, let process):
      let answers = try verbs.checkpoint(checkpoints, from: process, at: now)
      return .checkpointed(id, checkpoints, answers, of: process.host)
    case .end(let id, let endings, let checkpoints, let process):
      let answers = try verbs.end(endings, after: checkpoints, from: process, at: now)
      return .ended(id, endings, after: checkpoints, answers, of: process.host)
    case .submit: preconditionFailure("the shell carries out submissions of launches")
    }
  }

  /// What the coordinator was doing, for a log message.
  package var purpose: String {
    switch self {
    case .learn: "reading definitions"
    case .grantLease(_, let hello, _), .examine(_, let hello, _): "attaching host \(hello.host)"
    case .renew: "giving a store that went backwards another name"
    case .readAssignments(_, let host): "attaching host \(host)"
    case .appendItems(_, _, let process), .readItems(_, _, _, let process), .appendOutput(_, _, let process),
      .checkpoint(_, _, let process), .end(_, _, _, let process), .submit(_, _, let process):
      "storing what host \(process.host) says"
    case .claim: "starting launches"
    case .promote: "making requests ready whose time has come"
    case .findReady: "reading what is ready"
    case .endOverrun, .endLease, .endLeaseElsewhere, .noteAway, .noteExpiry, .note, .noteReports, .noteUses:
      "storing a change"
    case .beat: "showing that this coordinator lives"
    case .endCoordinator: "ending a coordinator that stands still"
    case .readFleet, .readDefinitions: "reading what other coordinators have changed"
    }
  }

  /// Whether operators' words about the fleet have to wait while the order is carried out and its answer is told: the
  /// answer says which words are in force.
  package var concernsWords: Bool {
    switch self {
    case .readFleet, .renew: true
    case .learn, .claim, .promote, .findReady, .endOverrun, .endLease, .endLeaseElsewhere, .noteAway, .noteExpiry,
      .note,
      .noteReports, .noteUses, .beat, .endCoordinator, .readDefinitions, .examine, .grantLease, .readAssignments,
      .appendItems, .readItems, .appendOutput, .checkpoint, .end, .submit:
      false
    }
  }

  /// True if the order only reads, so that the store's writer is not involved.
  package var isReading: Bool {
    switch self {
    case .learn, .findReady, .readAssignments, .readItems, .readFleet, .readDefinitions, .examine: true
    case .claim, .promote, .endOverrun, .endLease, .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .noteExpiry,
      .note, .noteReports, .noteUses, .grantLease,
      .renew, .appendItems, .appendOutput, .checkpoint, .end, .submit:
      false
    }
  }

  /// The session that the order is for; nil if it is not for a worker's connection.
  package var session: SessionID? {
    switch self {
    case .learn(_, let id): id
    case .grantLease(let id, _, _), .examine(let id, _, _), .renew(let id, _, _), .readAssignments(let id, _),
      .appendItems(let id, _, _), .readItems(let id, _, _, _),
      .appendOutput(let id, _, _), .checkpoint(let id, _, _), .end(let id, _, _, _), .submit(let id, _, _):
      id
    case .claim, .promote, .findReady, .endOverrun, .endLease, .endLeaseElsewhere, .noteAway, .noteExpiry, .note,
      .noteReports, .noteUses, .beat, .endCoordinator, .readFleet, .readDefinitions:
      nil
    }
  }
}
