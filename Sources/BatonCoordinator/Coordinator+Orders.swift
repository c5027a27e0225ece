import BatonBase
import BatonModel
import BatonStore
import BatonWire
import Synchronization

/// Carrying out the core's orders to the store. The core sequences its orders, so each order is started as soon as it
/// arrives.
extension Coordinator {
  /// Carries out the core's orders to the store, except those for connections, each in its own task.
  func orderLoop() async throws {
    try await withThrowingDiscardingTaskGroup { group in
      while let orders = await orders.receive() {
        for order in orders { group.addTask { try await self.carryOut(order) } }
      }
    }
  }

  func carryOut(_ timed: TimedOrder) async throws {
    if timed.delay > .zero { try await clocks.sleep(timed.delay) }
    if timed.order.concernsWords { return try await words.inTurn { try await self.carryOut(timed.order) } }
    try await carryOut(timed.order)
  }

  func carryOut(_ order: StoreOrder) async throws {
    do {
      let reading = reading()
      let news =
        if case .submit(let id, let asked, let process) = order {
          try await submit(asked, of: process, for: id)
        } else {
          try await order.run(on: store, at: reading)
        }
      if case .fleetRead(let fleet) = news { follow(fleet, askedAt: reading.instant) }
      decide { state in
        if !order.isReading { state.complaint = nil }
        state.core.stored(news, at: now())
      }
      // The room on the disk of a database elsewhere cannot be tried, so that a write has to do.
      if store.isShared, !order.isReading { noteWritable() }
      if case .checkpointed(_, let checkpoints, let answers, let host) = news {
        await log(superseded: checkpoints, answers, from: host)
      }
    } catch let error as StoreError {
      decide { $0.core.failed(order, error, at: now()) }
      guard error.isPassing || error.code == .moved || order.session != nil else { throw error }
    }
  }

  /// Carries out the core's orders for one connection until the core has dropped its session.
  func carryOutAll(_ link: Link) async {
    while let orders = await link.orders.receive() {
      do {
        try await carryOut(orders)
      } catch {
        // `carryOut` has told the core about errors of the store. After any other error these orders stay without an
        // outcome, so the connection has to end.
        if !(error is CancellationError) { note(error, while: "serving a worker") }
        return link.connection.close()
      }
    }
  }

  /// Carries out the orders concurrently, so that they can be committed together. Usually there is only one order.
  ///
  /// An order has a task of its own, which gives its memory back when it ends. Only the orders of launches that run are
  /// carried out by the task of the connection: it keeps 27 KB for them, which most connections never need.
  private func carryOut(_ orders: [TimedOrder]) async throws {
    if orders.count == 1, orders[0].order.isOfLaunch { return try await carryOut(orders[0]) }
    try await withThrowingDiscardingTaskGroup { group in
      for order in orders { group.addTask { try await self.carryOut(order) } }
    }
  }
}

extension StoreOrder {
  /// Whether a launch that runs has such orders again and again.
  fileprivate var isOfLaunch: Bool {
    switch self {
    case .checkpoint, .end, .appendOutput, .appendItems, .readItems: true
    default: false
    }
  }

  /// Carries out the order on the daemon's store.
  func run(on store: any Store, at reading: ClockReading) async throws -> StoreNews {
    let now = reading.moment
    switch self {
    case .beat(let keepsClock): return .beaten(try await store.beat(keepsClock ? reading : nil))
    case .endCoordinator(let epoch, let beat):
      try await store.end(coordinator: epoch, silentSince: beat)
      return .coordinatorEnded(epoch)
    case .readFleet: return .fleetRead(try await store.fleet())
    case .readDefinitions:
      // The version is read first: if the definitions change in between, they are read again.
      let version = try await store.fleet().definitionsVersion
      return .definitionsRead(try await store.definitions(), version: version)
    case .noteAway(let lease, let link):
      try await store.noteAway(lease, link: link)
      return .awayNoted
    case .endLeaseElsewhere(let process, let countsAsLoss):
      return .leaseEndedElsewhere(
        process, try await store.endLease(of: process, countsAsLoss: countsAsLoss, at: now))
    case .examine(let id, let hello, let proof):
      let secret = try await store.standing(of: hello.host, secret: proof.secret)
      // Signed receipts are compared first, so that a receipt without a signature cannot hide them.
      var receipts = ReceiptStanding.covered
      let signed = hello.receipts.filter(proof.signedReceipts.contains)
      if !signed.isEmpty { receipts = try await store.standing(of: signed) }
      if receipts == .covered, signed != hello.receipts { receipts = try await store.standing(of: hello.receipts) }
      return .examined(id, Examination(secret: secret, receipts: receipts))
    case .renew(let id, let incarnation, let name):
      return .renewed(id, isNews: try await store.renewIncarnation(of: incarnation, as: name))
    case .learn(let ids, let session):
      var found: [DefinitionID: Definition] = [:]
      for id in ids { found[id] = try await store.definition(id) }
      return .learned(ids, found, for: session)
    case .claim(let claims, let reservations): return .claimed(reservations, try await store.claim(claims, at: now))
    case .promote: return .promoted(try await store.promote(at: now, limit: CoordinatorCore.promotionLimit))
    case .findReady: return .foundReady(try await store.ready())
    case .endOverrun(let endings, let process):
      return .overrunEnded(try await store.end(endings, from: process, at: now))
    case .endLease(let lease, let countsAsLoss):
      return .leaseEnded(lease, try await store.endLease(lease, countsAsLoss: countsAsLoss, at: now))
    case .noteExpiry(let launch, let reason, let process, let lease):
      let subject = try await store.noteExpiry(launch, reason, from: process, under: lease, at: now)
      return .expiryNoted(launch, reason, subject)
    case .note(let request, let event, let detail):
      try await store.note(event, detail: detail, of: request, at: now)
      return .noted(request)
    case .noteReports(let reports):
      try await store.noteReports(reports, at: now)
      return .reportsNoted
    case .noteUses(let uses):
      try await store.noteUses(uses)
      return .usesNoted
    case .grantLease(let id, let hello, let secret):
      let grant = try await store.grantLease(
        hello.host, hello.incarnation, link: Int64(id.number), secret: secret, report: hello.word, at: now)
      return .leaseGranted(id, grant)
    case .readAssignments(let id, let host): return .assignmentsRead(id, try await store.assignments(on: host))
    case .appendItems(let id, let page, let process):
      return .itemsAppended(id, page, try await store.appendItems(page, from: process, at: now), of: process.host)
    case .readItems(let id, let page, let count, let process):
      let items = try await store.items(of: page.launch, for: process, start: page.start, count: count)
      return .itemsRead(id, page, items, of: process.host)
    case .appendOutput(let id, let chunks, let process):
      try await store.appendOutput(chunks, from: process)
      return .outputAppended(id, of: Set(chunks.map(\.launch.request)))
    case .checkpoint(let id, let checkpoints, let process):
      let answers = try await store.checkpoint(checkpoints, from: process, at: now)
      return .checkpointed(id, checkpoints, answers, of: process.host)
    case .end(let id, let endings, let checkpoints, let process):
      let answers = try await store.end(endings, after: checkpoints, from: process, at: now)
      return .ended(id, endings, after: checkpoints, answers, of: process.host)
    case .submit: preconditionFailure("Coordinator.submit carries out submissions of launches")
    }
  }
}
