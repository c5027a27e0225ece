import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// A worker that reconnects sends the last receipt that it got. If the store has not reached this receipt, the store
/// went backwards: batches that were committed would run again, and launch numbers would be used twice (promise P12).
extension Coordinator {
  /// The store's current receipt, sealed for workers.
  var receipt: Receipt { seal.sealed(store.receipt) }

  /// Warns if the receipt key was missing although the store has workers: the receipts of these workers prove nothing
  /// now.
  func noteReceiptKey(hosts: Int) {
    guard settings.isReceiptKeyNew, hosts > 0 else { return }
    logger.warning(
      """
      the key that signs workers' receipts was not in the data folder, and a new one was made: until each worker has heard \
      of it, a store that went backwards is not noticed. A backup of the data folder has to have the file receipt.key; \
      after an upgrade from a version without it there is nothing to do.
      """)
  }

  /// Checks a worker's receipt before the core gets the worker's hello. If the receipt is from another history of the
  /// store, the worker's launches are withdrawn before the worker can repeat anything that they said, and the launches
  /// that the store believes to run there end as lost.
  func reconcile(_ hello: Hello, _ connection: Connection) async throws {
    guard let receipt = hello.receipt else { return }
    switch try await store.standing(of: receipt) {
    case .covered: return
    case .ahead where !seal.isGenuine(receipt):
      // The receipt is from an older version or from the time of another key, or it is forged. A receipt without proof
      // must not pause the fleet.
      logger.warning(
        "a receipt that this store's key did not sign does not count",
        metadata: [Names.LogKey.host: "\(hello.host)", "sequence": "\(receipt.sequence)"])
    case .ahead(let known):
      let why = "\(hello.host) had been told of commit \(receipt.sequence), and the store had \(known.sequence)"
      try await renew(receipt.store, because: why)
      try await disown(hello, connection, because: why, launches: hello.running.map(\.launch))
    case .foreign:
      logger.warning("a worker comes from another store", metadata: [Names.LogKey.host: "\(hello.host)"])
      try await disown(hello, connection, because: "\(hello.host) came from another store", launches: [])
    }
  }

  /// Gives the store a new incarnation. The first worker that brings proof also pauses the fleet, so that nothing runs
  /// again before a person has looked.
  private func renew(_ incarnation: String, because why: String) async throws {
    let before = store.receipt.store
    let name = RandomNumbers.name()
    try await words.inTurn {
      try await self.persistently { try await self.store.renewIncarnation(of: incarnation, as: name) }
      if self.store.receipt.store != before { self.decide { $0.core.said(.pause(true)) } }
    }
    guard store.receipt.store != before else { return }
    logger.error(
      """
      the store went backwards: \(why). Was an older backup put in its place? The fleet is paused, because work that is \
      missing in the store would run again: put the right database back, or let it go on with 'baton resume'.
      """)
  }

  /// Withdraws everything that the worker runs, records the reason in the history of each request concerned, and ends
  /// the lease.
  private func disown(
    _ hello: Hello, _ connection: Connection, because why: String, launches: [LaunchKey]
  ) async throws {
    let text = "the store went backwards, or it is another one: \(why)"
    connection.down.send(contentsOf: hello.running.map { .withdraw($0.launch, text) })
    let open = try await store.assignments(on: hello.host).map(\.launch)
    for request in Set((open + launches).map(\.request)).sorted() {
      try await note(.storeWentBackwards, detail: why, of: request)
    }
    guard let holder = holder(of: hello) else { return }
    decide { state in
      state.core.decide { $0.processDied(hello.host, holder, isBlameless: true).filter { !$0.endsLease } }
    }
    try await endLease(of: holder, on: hello.host)
  }

  /// Ends the lease of a worker that belongs to another history of the store, and its launches, without counting them
  /// as losses. Launches that overran their deadlines end as expired, not as lost.
  private func endLease(of incarnation: Incarnation, on host: HostName) async throws {
    let overrun = state.withLock { $0.core.dispatcher.overrunEndings(on: host) }
    if !overrun.isEmpty {
      let process = WorkerProcess(host: host, incarnation: incarnation)
      let answers = try await persistently { try await self.store.end(overrun, from: process, at: self.now().moment) }
      decide { $0.core.ended(answers) }
      for answer in answers { warn(of: answer) }
    }
    let answers = try await persistently {
      try await self.store.endLease(host, incarnation, countsAsLoss: false, at: self.now().moment)
    }
    decide { $0.core.leaseEnded(host, incarnation, answers, at: now()) }
  }

  private func note(_ event: RequestEvent, detail: String, of request: RequestID) async throws {
    try await persistently { try await self.store.note(event, detail: detail, of: request, at: self.now().moment) }
    watchers.changed(request)
  }

  /// The incarnation whose lease this hello ends; nil if no process holds the lease, or another process that is still
  /// connected.
  private func holder(of hello: Hello) -> Incarnation? {
    state.withLock { state in
      guard let host = state.core.dispatcher.hosts[hello.host], let holder = host.incarnation,
        holder == hello.incarnation || !host.isConnected
      else { return nil }
      return holder
    }
  }
}

extension Dispatcher.Effect {
  fileprivate var endsLease: Bool { if case .endLease = self { true } else { false } }
}
