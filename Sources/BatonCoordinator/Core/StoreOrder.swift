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
  case endLease(HostName, Incarnation, countsAsLoss: Bool)
  /// Records that a launch was asked to stop, by its worker's process or (nil) by the coordinator.
  case noteExpiry(LaunchKey, ExpiryReason, from: WorkerProcess?)
  case note(RequestID, event: RequestEvent, detail: String)
  case noteReports([HostName: HostWord])
  case noteUses([IdentifierPattern: Timestamp])

  // Orders for a worker's connection. The daemon carries them out in the task of the connection.

  /// Indirect, to keep orders small: there are many orders, and few of this kind.
  indirect case grantLease(SessionID, Hello)
  /// Reads the launches that the store believes to run on the host.
  case readAssignments(SessionID, HostName)
  case appendItems(SessionID, ItemPage, WorkerProcess)
  /// Reads up to `count` items, beginning at the start of the page. The page's own items are empty.
  case readItems(SessionID, ItemPage, count: Int, WorkerProcess)
  case appendOutput(SessionID, [OutputChunk], WorkerProcess)
  case checkpoint(SessionID, [Checkpoint], WorkerProcess)
  case end(SessionID, [Ending], WorkerProcess)
}

/// An order that was carried out, with the store's answer.
package enum StoreNews: Sendable {
  case learned([DefinitionID], [DefinitionID: Definition], for: SessionID?)
  case claimed([Dispatcher.Reservation], [ClaimAnswer])
  case promoted(Promotion)
  case foundReady(ReadyRecord)
  case overrunEnded([EndingAnswer])
  case leaseEnded(HostName, Incarnation, [EndingAnswer])
  /// The subject is nil if the launch had ended, or does not run on the process that reported the expiry.
  case expiryNoted(LaunchKey, ExpiryReason, LaunchSubject?)
  case noted(RequestID)
  case reportsNoted
  case usesNoted
  case leaseGranted(SessionID, HostName)
  case assignmentsRead(SessionID, [Assignment])
  case itemsAppended(SessionID, ItemPage, ItemsAnswer, of: HostName)
  /// The items are nil if the launch does not run on the process that asked.
  case itemsRead(SessionID, ItemPage, [String]?, of: HostName)
  case outputAppended(SessionID, of: Set<RequestID>)
  case checkpointed(SessionID, [Checkpoint], [CheckpointAnswer], of: HostName)
  case ended(SessionID, [Ending], [EndingAnswer], of: HostName)
}

extension StoreOrder {
  /// Carries out the order in an open transaction, for the simulator. The daemon's version is in
  /// `Coordinator+Orders.swift`.
  package func run(on verbs: Verbs, at now: Moment) throws -> StoreNews {
    switch self {
    case .learn(let ids, let session):
      var found: [DefinitionID: Definition] = [:]
      for id in ids { found[id] = try verbs.definition(id) }
      return .learned(ids, found, for: session)
    case .claim(let claims, let reservations): return .claimed(reservations, try verbs.claim(claims, at: now))
    case .promote: return .promoted(try verbs.promote(at: now, limit: CoordinatorCore.promotionLimit))
    case .findReady: return .foundReady(try verbs.ready())
    case .endOverrun(let endings, let process):
      return .overrunEnded(try verbs.end(endings, from: process, at: now))
    case .endLease(let host, let incarnation, let countsAsLoss):
      return .leaseEnded(
        host, incarnation, try verbs.endLease(host, incarnation, countsAsLoss: countsAsLoss, at: now))
    case .noteExpiry(let launch, let reason, let process):
      return .expiryNoted(launch, reason, try verbs.noteExpiry(launch, reason, from: process, at: now))
    case .note(let request, let event, let detail):
      try verbs.note(event, detail: detail, of: request, at: now)
      return .noted(request)
    case .noteReports(let reports):
      try verbs.noteReports(reports, at: now)
      return .reportsNoted
    case .noteUses(let uses):
      try verbs.noteUses(uses)
      return .usesNoted
    case .grantLease(let id, let hello):
      try verbs.grantLease(
        hello.host, hello.incarnation, secret: nil, report: hello.word, at: now)
      return .leaseGranted(id, hello.host)
    case .readAssignments(let id, let host): return .assignmentsRead(id, try verbs.assignments(on: host))
    case .appendItems(let id, let page, let process):
      return .itemsAppended(id, page, try verbs.appendItems(page, from: process), of: process.host)
    case .readItems(let id, let page, let count, let process):
      let items = try verbs.items(of: page.launch, for: process, start: page.start, count: count)
      return .itemsRead(id, page, items, of: process.host)
    case .appendOutput(let id, let chunks, let process):
      try verbs.appendOutput(chunks, from: process)
      return .outputAppended(id, of: Set(chunks.map(\.launch.request)))
    case .checkpoint(let id, let checkpoints, let process):
      let answers = try verbs.checkpoint(checkpoints, from: process, at: now)
      return .checkpointed(id, checkpoints, answers, of: process.host)
    case .end(let id, let endings, let process):
      return .ended(id, endings, try verbs.end(endings, from: process, at: now), of: process.host)
    }
  }

  /// What the coordinator was doing, for a log message.
  package var purpose: String {
    switch self {
    case .learn: "reading definitions"
    case .grantLease(_, let hello): "attaching host \(hello.host)"
    case .readAssignments(_, let host): "attaching host \(host)"
    case .appendItems(_, _, let process), .readItems(_, _, _, let process), .appendOutput(_, _, let process),
      .checkpoint(_, _, let process), .end(_, _, let process):
      "storing what host \(process.host) says"
    case .claim: "starting launches"
    case .promote: "making requests ready whose time has come"
    case .findReady: "reading what is ready"
    case .endOverrun, .endLease, .noteExpiry, .note, .noteReports, .noteUses: "storing a change"
    }
  }

  /// True if the order only reads, so that the store's writer is not involved.
  package var isReading: Bool {
    switch self {
    case .learn, .findReady, .readAssignments, .readItems: true
    case .claim, .promote, .endOverrun, .endLease, .noteExpiry, .note, .noteReports, .noteUses, .grantLease,
      .appendItems, .appendOutput, .checkpoint, .end:
      false
    }
  }

  /// The session that the order is for; nil if it is not for a worker's connection.
  package var session: SessionID? {
    switch self {
    case .learn(_, let id): id
    case .grantLease(let id, _), .readAssignments(let id, _), .appendItems(let id, _, _), .readItems(let id, _, _, _),
      .appendOutput(let id, _, _), .checkpoint(let id, _, _), .end(let id, _, _):
      id
    case .claim, .promote, .findReady, .endOverrun, .endLease, .noteExpiry, .note, .noteReports, .noteUses: nil
    }
  }
}
