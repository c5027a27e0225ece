package import BatonModel
package import BatonStore

/// What a hello proves, as far as its driver can tell: the core knows neither keys nor random numbers.
package struct Proof: Hashable, Sendable {
  /// The SHA-256 of the worker's secret; nil for a worker of an older version.
  package var secret: [UInt8]?
  /// Those of the worker's receipts that this store's key has signed.
  package var signedReceipts: Set<Receipt>
  /// A random name that no store has, for a store that turns out to have gone backwards.
  package var nextStore: String

  package init(secret: [UInt8]?, signedReceipts: Set<Receipt>, nextStore: String) {
    self.secret = secret
    self.signedReceipts = signedReceipts
    self.nextStore = nextStore
  }
}

/// What the store says about the worker that said hello.
package struct Examination: Hashable, Sendable {
  package var secret: SecretStanding
  package var receipts: ReceiptStanding

  package init(secret: SecretStanding, receipts: ReceiptStanding) {
    self.secret = secret
    self.receipts = receipts
  }
}

/// The examination of a worker that says hello: whether the host's name is its own, and whether the store has
/// everything that the worker was told. Nothing that the worker says counts before.
extension CoordinatorCore {
  /// A worker said hello on a new connection.
  /// - Parameters:
  ///   - address: the address of the worker, for messages.
  ///   - id: the id of the connection. Each hello needs a new id.
  package mutating func hello(
    _ hello: Hello, _ proof: Proof, from address: String, as id: SessionID, at now: Now
  ) {
    // A process has one connection: a process that says hello again has given up the connection before. If both
    // connections were attached, a launch that is claimed in between would be sent on the old one only.
    for old in unattached[hello.host] ?? [] where sessions[old]?.process == hello.process { end(old, at: now) }
    sessions[id] = Session(
      process: hello.process, address: address, secret: proof.secret, phase: .examining(hello, proof))
    unattached[hello.host, default: []].append(id)
    add(.store(.examine(id, hello, proof), after: .zero))
  }

  mutating func examined(_ found: Examination, _ id: SessionID, at now: Now) {
    guard let session = sessions[id], case .examining(let hello, let proof) = session.phase else { return }
    if let objection = objection(to: hello, found.secret, at: now.instant) {
      add(.send(id, .refused(objection, isFinal: false)))
      tell(.nameRefused(hello.host, address: session.address, objection))
      return forget(id)
    }
    switch found.receipts {
    case .covered: return welcomeFirst(id, hello, at: now)
    case .ahead(let receipt, _) where !proof.signedReceipts.contains(receipt):
      // The receipt is from an older version or from the time of another key, or it is forged. A receipt without proof
      // must not pause the fleet.
      tell(.unprovenReceipt(hello.host, receipt))
      welcomeFirst(id, hello, at: now)
    case .ahead(let receipt, let known):
      let why = "\(hello.host) had been told of commit \(receipt.sequence), and the store had \(known.sequence)"
      sessions[id]?.phase = .disowning(hello, because: why, hello.running.map(\.launch))
      add(.store(.renew(id, incarnation: receipt.store, as: proof.nextStore), after: .zero))
    case .foreign:
      tell(.cameFromAnotherStore(hello.host))
      sessions[id]?.phase = .disowning(hello, because: "\(hello.host) came from another store", [])
      add(.store(.readAssignments(id, hello.host), after: .zero))
    }
  }

  private mutating func welcomeFirst(_ id: SessionID, _ hello: Hello, at now: Now) {
    sessions[id]?.phase = .waiting(hello)
    welcome(id, at: now)
  }

  // MARK: Names

  /// Why this worker may not have the name; nil if it may have it. The name of a host belongs to the first worker that
  /// used it: the store keeps the hash of the secret in that worker's hello, and accepts no other secret for the name
  /// until an operator forgets the host.
  private func objection(to hello: Hello, _ secret: SecretStanding, at now: Instant) -> String? {
    switch secret {
    case .matches: return nil
    case .differs:
      return """
        the name '\(hello.host)' belongs to another worker: this one has another secret. If it was installed again, or \
        its data folder was lost, run 'baton hosts --forget \(hello.host)'; otherwise give it another --name
        """
    case .missing:
      return """
        the name '\(hello.host)' belongs to a worker that proves itself by a secret, and this one sent none: is it of an \
        older version? Update it, or run 'baton hosts --forget \(hello.host)'
        """
    case .unclaimed:
      // The name has no secret yet, so only the end of the lease shows whether an earlier process is gone.
      guard case .held(let incarnation, let until)? = dispatcher.hosts[hello.host]?.lease,
        incarnation != hello.incarnation, until > now
      else { return nil }
      return """
        another worker named '\(hello.host)' was here, and its lease still runs: it may come back, so this one is not \
        taken before the lease has ended
        """
    }
  }

  // MARK: The welcome

  /// Takes the hello of an examined worker.
  mutating func welcome(_ id: SessionID, at now: Now) {
    guard let session = sessions[id], case .waiting(let hello) = session.phase else { return }
    switch dispatcher.hello(hello, from: session.address, at: now.instant) {
    case .refused(let text, let isFinal):
      add(.send(id, .refused(text, isFinal: isFinal)))
      tell(.refused(hello.host, address: session.address, text))
      forget(id)
    case .after(let lease):
      // Another process connects with the same name, so the earlier process is gone and its launches are lost.
      tell(.cameBack(hello.host))
      put(.endLease(lease, countsAsLoss: hello.host != embeddedHost))
    case .attached(let held):
      sessions[id]?.phase = .attaching(hello, held: held)
      add(.store(.grantLease(id, hello, secret: session.secret), after: .zero))
    }
  }

  /// Takes the hello of each worker of this host that waited for the end of a lease.
  mutating func welcomeWaiting(on host: HostName, at now: Now) {
    for id in unattached[host] ?? [] { welcome(id, at: now) }
  }

  /// The store has granted the lease.
  mutating func granted(_ grant: LeaseGrant, for id: SessionID, at now: Now) {
    dispatcher.granted(grant.lease, at: now.instant, grace: standing.isShared ? standing.term : .zero)
    ended(grant.ended)
    if sessions[id] != nil { add(.store(.readAssignments(id, grant.lease.host), after: .zero)) }
  }

  /// The host is another coordinator's now. It is forgotten here, and nothing of it is ended.
  mutating func moved(_ lease: HostLease) {
    let effects = dispatcher.moved(lease)
    guard !effects.isEmpty else { return }
    tell(.leaseMoved(lease))
    perform(effects)
    wantDispatch()
  }

  /// Takes over the launches that the store believes to run on the host. It first orders the store to read the
  /// definitions that the core does not know.
  mutating func read(_ assignments: [Assignment], for id: SessionID, at now: Now) {
    guard case .attaching(let hello, let held)? = sessions[id]?.phase else { return disown(id, assignments, at: now) }
    let unknown = Set(assignments.map(\.definition)).filter { dispatcher.definitions[$0] == nil }
    if unknown.isEmpty { return attach(id, hello, held: held, assignments, at: now) }
    sessions[id]?.phase = .learning(hello, held: held, assignments)
    add(.store(.learn(unknown.sorted(), for: id), after: .zero))
  }

  mutating func learned(for id: SessionID, at now: Now) {
    guard case .learning(let hello, let held, let assignments)? = sessions[id]?.phase else { return }
    attach(id, hello, held: held, assignments, at: now)
  }

  private mutating func attach(
    _ id: SessionID, _ hello: Hello, held: [LaunchKey], _ assignments: [Assignment], at now: Now
  ) {
    if let old = connections[hello.host], old != id { add(.close(old)) }
    connections[hello.host] = id
    sessions[id]?.phase = .attached
    removeFromUnattached(id, hello.host)
    (lastSeen[hello.host], conditionsCame[hello.host]) = (now.date, now.instant)
    add(.sendReceipt(id))
    decide {
      $0.attached(hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments)
    }
    tell(.attached(hello.host, running: hello.running.count))
    tellOfLaunches(on: hello.host)
    wantDispatch()
    let said = sessions[id]?.pending ?? []
    sessions[id]?.pending = []
    if !said.isEmpty { take(said, from: id, at: now) }
    endIfSettled(id, at: now)
  }

  // MARK: A store that went backwards (promise P12)

  /// The store has another name, so that the receipts of its lost history are noticed only once. The first worker that
  /// brings proof also pauses the fleet, so that nothing runs again before a person has looked.
  mutating func renewed(isNews: Bool, for id: SessionID) {
    guard let session = sessions[id], case .disowning(let hello, let why, _) = session.phase else { return }
    if isNews {
      tell(.wentBackwards(why))
      said(.pause(true))
    }
    add(.store(.readAssignments(id, hello.host), after: .zero))
  }

  /// Withdraws everything that the worker runs, records the reason in the history of each request concerned, and ends
  /// the lease without counting its launches as losses. Afterwards the worker is welcomed like a new one.
  mutating func disown(_ id: SessionID, _ open: [Assignment], at now: Now) {
    guard let session = sessions[id], case .disowning(let hello, let why, let launches) = session.phase else { return }
    let text = "the store went backwards, or it is another one: \(why)"
    for running in hello.running { add(.send(id, .withdraw(running.launch, text))) }
    for request in Set((open.map(\.launch) + launches).map(\.request)).sorted() {
      put(.note(request, event: .storeWentBackwards, detail: why))
    }
    sessions[id]?.phase = .waiting(hello)
    let host = dispatcher.hosts[hello.host]
    if let holder = host?.incarnation, holder == hello.incarnation || host?.isConnected != true {
      // The worker is welcomed when the lease has ended.
      if decide({ $0.processDied(hello.host, holder, isBlameless: true) }) { return }
    } else if standing.isShared, host?.lease == .elsewhere {
      return put(.endLeaseElsewhere(hello.process, countsAsLoss: false))
    }
    welcome(id, at: now)
  }
}
