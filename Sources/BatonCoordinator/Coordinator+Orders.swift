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

  private func carryOut(_ timed: TimedOrder) async throws {
    if timed.delay > .zero { try await clocks.sleep(timed.delay) }
    do {
      let news = try await timed.order.run(on: store, at: now().moment)
      decide { state in
        if !timed.order.isReading { state.complaint = nil }
        state.core.stored(news, at: now())
      }
      if case .checkpointed(_, let checkpoints, let answers, let host) = news {
        await log(superseded: checkpoints, answers, from: host)
      }
    } catch let error as StoreError {
      decide { $0.core.failed(timed.order, error, at: now()) }
      guard error.isPassing || timed.order.session != nil else { throw error }
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
  private func carryOut(_ orders: [TimedOrder]) async throws {
    if orders.count == 1 { return try await carryOut(orders[0]) }
    try await withThrowingDiscardingTaskGroup { group in
      for order in orders { group.addTask { try await self.carryOut(order) } }
    }
  }
}

extension StoreOrder {
  /// Carries out the order on the daemon's store.
  func run(on store: any Store, at now: Moment) async throws -> StoreNews {
    switch self {
    case .learn(let ids, let session):
      var found: [DefinitionID: Definition] = [:]
      for id in ids { found[id] = try await store.definition(id) }
      return .learned(ids, found, for: session)
    case .claim(let claims, let reservations): return .claimed(reservations, try await store.claim(claims, at: now))
    case .promote: return .promoted(try await store.promote(at: now, limit: CoordinatorCore.promotionLimit))
    case .findReady: return .foundReady(try await store.ready())
    case .endOverrun(let endings, let process):
      return .overrunEnded(try await store.end(endings, from: process, at: now))
    case .endLease(let host, let incarnation, let countsAsLoss):
      return .leaseEnded(
        host, incarnation, try await store.endLease(host, incarnation, countsAsLoss: countsAsLoss, at: now))
    case .noteExpiry(let launch, let reason, let process):
      return .expiryNoted(launch, reason, try await store.noteExpiry(launch, reason, from: process, at: now))
    case .note(let request, let event, let detail):
      try await store.note(event, detail: detail, of: request, at: now)
      return .noted(request)
    case .noteReports(let reports):
      try await store.noteReports(reports, at: now)
      return .reportsNoted
    case .noteUses(let uses):
      try await store.noteUses(uses)
      return .usesNoted
    case .grantLease(let id, let hello):
      try await store.grantLease(
        hello.host, hello.incarnation, secret: Coordinator.digest(hello.secret), report: hello.word, at: now)
      return .leaseGranted(id, hello.host)
    case .readAssignments(let id, let host): return .assignmentsRead(id, try await store.assignments(on: host))
    case .appendItems(let id, let page, let process):
      return .itemsAppended(id, page, try await store.appendItems(page, from: process), of: process.host)
    case .readItems(let id, let page, let count, let process):
      let items = try await store.items(of: page.launch, for: process, start: page.start, count: count)
      return .itemsRead(id, page, items, of: process.host)
    case .appendOutput(let id, let chunks, let process):
      try await store.appendOutput(chunks, from: process)
      return .outputAppended(id, of: Set(chunks.map(\.launch.request)))
    case .checkpoint(let id, let checkpoints, let process):
      let answers = try await store.checkpoint(checkpoints, from: process, at: now)
      return .checkpointed(id, checkpoints, answers, of: process.host)
    case .end(let id, let endings, let process):
      return .ended(id, endings, try await store.end(endings, from: process, at: now), of: process.host)
    }
  }
}
