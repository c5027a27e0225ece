import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// A worker that comes back brings the last receipt that it heard. A store that does not reach this receipt went
/// backwards: batches that were committed would run again, and launch numbers would be used twice (promise P12).
extension Coordinator {
  /// How far the store is, as workers are told.
  var receipt: Receipt { seal.sealed(store.receipt) }

  /// A key that is not there any more, in a store that has workers, is worth a word: their receipts prove nothing now.
  func noteReceiptKey(hosts: Int) {
    guard settings.isReceiptKeyNew, hosts > 0 else { return }
    logger.warning(
      """
      the key that signs workers' receipts was not in the data folder, and a new one was made: until each worker has heard \
      of it, a store that went backwards is not noticed. A backup of the data folder has to have the file receipt.key; \
      after an upgrade from a version without it there is nothing to do.
      """)
  }

  /// Looks at a worker's receipt before its hello is taken. Launches of another history are withdrawn before the worker
  /// may repeat anything that they said, and what the store believes to run there ends as lost.
  func reconcile(_ hello: Hello, _ connection: Connection) async throws {
    guard let receipt = hello.receipt else { return }
    switch try await store.standing(of: receipt) {
    case .covered: return
    case .ahead where !seal.isGenuine(receipt):
      // Of a worker or a coordinator of an older version, of a time with another key, or made up: one must not pause the
      // fleet by saying so.
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

  /// The first worker that brings proof pauses the fleet: nothing runs again before a person has looked.
  private func renew(_ incarnation: String, because why: String) async throws {
    let before = store.receipt.store
    let name = [UInt8].random(count: 16).hexadecimal
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

  /// Ends the lease of a worker whose store is another one, and its launches, which are blameless. What overran its
  /// deadline has expired, and is not merely lost.
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

  /// Whose lease the hello puts an end to; nil if nobody holds it, or another process that is alive.
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
