package import BatonModel
package import BatonStore

/// Orders for the store about changes, in the order in which the changes were decided. The queue is bounded by the
/// number of launches and leases, because each launch is asked to stop once and each lease ends once.
struct WorkQueue: Sendable {
  /// Orders that have not been started. `noteReports` and `noteUses` are queued without content; their content is in
  /// the properties below.
  var waiting: [StoreOrder] = []
  /// Orders that the store is carrying out now.
  var open = 0
  /// The newest report of each host that the store does not have yet. A host has one entry, however often its report
  /// changes.
  var reports: [HostLease: HostWord] = [:]
  /// When people last used definitions, as far as the store does not have it yet.
  var uses: [IdentifierPattern: Timestamp] = [:]
}

extension CoordinatorCore {
  /// Appends an order to the queue, and starts it if nothing is open.
  mutating func put(_ order: StoreOrder) {
    work.waiting.append(order)
    beginWork()
  }

  /// Starts the next order or group, unless an order is still open.
  private mutating func beginWork() {
    guard work.open == 0, let first = work.waiting.first else { return }
    switch first {
    case .noteExpiry: beginExpiries()
    case .endLease(let lease, _):
      let endings = dispatcher.overrunEndings(on: lease.host)
      // The process is gone. Its launches that overran their deadlines end as expired; without this order they would
      // end as lost, with the lease.
      if endings.isEmpty { return begin(1) }
      work.open = 1
      let process = WorkerProcess(host: lease.host, incarnation: lease.incarnation)
      add(.store(.endOverrun(endings, process), after: .zero))
    case .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .readFleet, .readDefinitions, .examine, .renew, .learn,
      .claim, .promote, .findReady, .endOverrun, .note, .noteReports, .noteUses, .grantLease,
      .readAssignments, .appendItems, .readItems, .appendOutput, .checkpoint, .end, .submit:
      begin(1)
    }
  }

  /// Starts all expiries at the head of the queue together, so that they are committed together. A whole fleet may be
  /// asked to stop at once.
  private mutating func beginExpiries() {
    begin(work.waiting.prefix { if case .noteExpiry = $0 { true } else { false } }.count)
  }

  private mutating func begin(_ count: Int) {
    let orders = work.waiting.prefix(count)
    work.waiting.removeFirst(count)
    work.open = count
    for order in orders { add(.store(filled(order), after: .zero)) }
  }

  /// The order with its content, which is then removed from the queue.
  private mutating func filled(_ order: StoreOrder) -> StoreOrder {
    switch order {
    case .noteReports:
      defer { work.reports = [:] }
      return .noteReports(work.reports)
    case .noteUses:
      defer { work.uses = [:] }
      return .noteUses(work.uses)
    case .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .readFleet, .readDefinitions, .examine, .renew,
      .learn, .claim, .promote, .findReady, .endOverrun, .endLease, .noteExpiry, .note, .grantLease, .readAssignments,
      .appendItems, .readItems, .appendOutput, .checkpoint, .end, .submit:
      return order
    }
  }

  private mutating func finishWork() {
    work.open -= 1
    beginWork()
  }

  // MARK: Answers

  /// The store has carried out an order.
  package mutating func stored(_ news: StoreNews, at now: Now) {
    switch news {
    case .learned(let ids, let definitions, let session): learned(ids, definitions, for: session, at: now)
    case .claimed(let reservations, let answers): claimed(reservations, answers)
    case .promoted(let promotion):
      isPromoting = false
      for requirementClass in promotion.classes.keys.sorted() { dispatcher.noteReady(requirementClass) }
      nextDue.join(promotion.nextDue)
      if !promotion.replaced.isEmpty { cancelled(promotion.replaced, by: "schedule") }
      if promotesAgain {
        promotesAgain = false
        promoteSoon()
      }
      wantDispatch()
    case .foundReady(let ready): noteReady(ready)
    case .overrunEnded(let answers):
      ended(answers)
      for answer in answers { tell(.overran(answer)) }
      finishWork()
    case .leaseEnded(let lease, let answers):
      leaseEnded(lease, answers, at: now)
      finishWork()
    case .leaseEndedElsewhere(let process, let answers):
      ended(answers)
      finishWork()
      welcomeWaiting(on: process.host, at: now)
    case .beaten(let beat): beaten(beat, at: now.instant)
    case .coordinatorEnded(let epoch):
      standing.isEnding = false
      standing.others[epoch] = nil
      // The next beat takes over the leases.
      standing.nextAt = nil
      tell(.coordinatorEnded(epoch: epoch))
    case .fleetRead(let fleet): heard(fleet, at: now.instant)
    case .definitionsRead(let stored, let version):
      standing.definitionsVersion = version
      for one in stored { dispatcher.learn(one.id, one.definition) }
      definitionsChanged(stored)
    case .expiryNoted(let launch, let reason, let subject):
      if let subject { tell(.askedToStop(subject, reason)) }
      tell(.changed(launch.request))
      finishWork()
    case .noted(let request):
      tell(.changed(request))
      finishWork()
    case .reportsNoted, .usesNoted, .awayNoted: finishWork()
    case .examined(let id, let found): examined(found, id, at: now)
    case .renewed(let id, let isNews): renewed(isNews: isNews, for: id)
    case .leaseGranted(let id, let grant): granted(grant, for: id, at: now)
    case .assignmentsRead(let id, let assignments): read(assignments, for: id, at: now)
    case .itemsAppended(let id, let page, let answer, let host): appended(page, answer, for: id, of: host, at: now)
    case .itemsRead(let id, let page, let items, let host): read(items, of: page, for: id, of: host, at: now)
    case .outputAppended(let id, let requests): outputAppended(of: requests, for: id, at: now)
    case .checkpointed(let id, let checkpoints, let answers, let host):
      checkpointed(checkpoints, answers, for: id, of: host, at: now)
    case .ended(let id, let endings, let checkpoints, let answers, let host):
      ended(endings, after: checkpoints, answers, for: id, of: host, at: now)
    case .submitted(let id, let answered, let host): submitted(answered, for: id, of: host, at: now)
    }
  }

  /// The store did not carry out an order, and has changed nothing. After a passing error (a full disk) the core tries
  /// the order again, in its place in the sequence. The messages of a worker are not tried again: the worker repeats
  /// them. After any other error of an order without a session, this coordinator cannot go on and has to end.
  package mutating func failed(_ order: StoreOrder, _ error: StoreError, at now: Now) {
    // Output is expendable: under overload it is dropped, and the launch goes on.
    if case .appendOutput(let id, _, _) = order, error.code == .overloaded {
      return outputAppended(of: [], for: id, at: now)
    }
    if error.code == .moved { return moved(order) }
    tell(.failed(order, error))
    switch order {
    case .appendItems(let id, _, _), .readItems(let id, _, _, _), .appendOutput(let id, _, _),
      .checkpoint(let id, _, _), .end(let id, _, _, _), .submit(let id, _, _):
      failedForWorker(id, at: now)
    case .grantLease(let id, _, _), .examine(let id, _, _), .renew(let id, _, _), .readAssignments(let id, _),
      .learn(_, for: let id?):
      // A worker that has left may be attached to another coordinator by now.
      if error.isPassing, sessions[id]?.isClosed == false { return add(.store(order, after: Self.retryInterval)) }
      failedToAttach(id, because: error, at: now)
    case .beat: standing.sentAt = nil
    case .endCoordinator: standing.isEnding = false
    case .readFleet: standing.isHearing = false
    case .readDefinitions: break
    case .endLeaseElsewhere, .noteAway, .learn(_, for: nil), .claim, .promote, .findReady, .endOverrun, .endLease,
      .noteExpiry, .note, .noteReports,
      .noteUses:
      if error.isPassing { tryAgain(order, at: now) }
    }
  }

  private mutating func tryAgain(_ order: StoreOrder, at now: Now) {
    switch order {
    case .claim(_, let reservations):
      // The next tick tries again, with the places that are free by then.
      for reservation in reservations { dispatcher.giveUp(reservation) }
      dispatching = .idle
    case .promote:
      isPromoting = false
      nextDue.join(NextDue(steady: now.steady))
    case .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .readFleet, .readDefinitions, .examine, .renew,
      .learn, .findReady,
      .endOverrun, .endLease, .noteExpiry, .note, .noteReports, .noteUses, .grantLease, .readAssignments, .appendItems,
      .readItems, .appendOutput, .checkpoint, .end, .submit:
      add(.store(order, after: Self.retryInterval))
    }
  }

  /// The store did not carry out an order, because another coordinator has the host or the duty that it is about.
  private mutating func moved(_ order: StoreOrder) {
    switch order {
    case .promote:
      isPromoting = false
      standing.isSteward = false
    case .endLease(let lease, _):
      moved(lease)
      finishWork()
    case .noteAway(let lease, _), .noteExpiry(_, _, _, under: let lease?):
      moved(lease)
      finishWork()
    case .learn, .claim, .findReady, .endOverrun, .endLeaseElsewhere, .noteExpiry, .note, .noteReports, .noteUses,
      .beat, .endCoordinator, .readFleet, .readDefinitions, .examine, .renew, .grantLease, .readAssignments,
      .appendItems, .readItems,
      .appendOutput, .checkpoint, .end, .submit:
      preconditionFailure(
        "the store answered \(order.purpose) with 'moved', which it does not name a lease or duty for")
    }
  }

  // MARK: Transfers

  /// Transfers have ended, and their requests are due.
  package mutating func transfersEnded(_ due: NextDue) { nextDue.join(due) }

  /// A host has said whether further files of transfers fit on it.
  package mutating func noteRoom(_ isOutOfRoom: Bool, on host: HostName) {
    dispatcher.change(host) { $0.isOutOfRoom = isOutOfRoom }
  }

  /// The process and the host of a session that is attached; `nil` otherwise.
  package func attachedProcess(_ id: SessionID) -> WorkerProcess? {
    guard let session = sessions[id], session.isAttached, connections[session.process.host] == id else { return nil }
    return session.process
  }

  /// The sessions of the hosts that are attached here and carry out transfers.
  package var transferSessions: [HostName: SessionID] {
    connections.filter {
      dispatcher.hosts[$0.key]?.host.capabilities.runsTransfers == true && attachedProcess($0.value) != nil
    }
  }

  // MARK: Endings

  /// The store has ended a lease, and its launches as lost.
  package mutating func leaseEnded(_ lease: HostLease, _ answers: [EndingAnswer], at now: Now) {
    dispatcher.leaseEnded(lease)
    ended(answers)
    wantDispatch()
    welcomeWaiting(on: lease.host, at: now)
  }

  /// The store has ended launches, or had ended them before.
  /// - Parameter host: the host of the worker that reported the endings. The report does not affect a launch that runs
  ///   on another host.
  package mutating func ended(_ answers: [EndingAnswer], saidBy host: HostName? = nil) {
    guard !answers.isEmpty else { return }
    tell(.ended(answers))
    for answer in answers {
      tell(.changed(answer.request))
      guard host == nil || answer.wasLive || dispatcher.places[answer.launch] == host else { continue }
      note(answer)
    }
    wantDispatch()
  }

  /// Updates what the end of a launch changes besides the launch itself.
  private mutating func note(_ answer: EndingAnswer) {
    dispatcher.ended(answer.launch)
    updates[answer.launch] = nil
    untoldUpdates.remove(answer.launch)
    if answer.state == .ready || answer.madeShards { dispatcher.noteReady(answer.requirementClass) }
    for stop in answer.stops { perform(dispatcher.expire(stop.launch, stop.reason)) }
    // The released request is ready now or later. Promotion finds out which; the class is only a hint.
    if let released = answer.released { dispatcher.noteReady(released) }
    for followed in answer.followed {
      dispatcher.noteReady(followed.requirementClass)
      tell(.changed(followed.request))
    }
    for released in answer.flow.released {
      dispatcher.noteReady(released.requirementClass)
      tell(.changed(released.request))
    }
    for case .ended(let request, _, _) in answer.flow.cancelled { tell(.changed(request)) }
    nextDue.join(answer.nextDue)
    if answer.makesRoom { promoteSoon() }
  }
}

extension StoreError {
  /// This coordinator has to end at once: after `unknown` it is not known what is stored until the store is opened
  /// again, after `superseded` another coordinator has the store, after `wentBackwards` what this coordinator knows is
  /// not true any more, after `newerVersion` this version is too old for the store, and after `relocated` the store is
  /// elsewhere.
  package var endsCoordinator: Bool {
    [.unknown, .superseded, .wentBackwards, .newerVersion, .relocated].contains(code)
  }

  /// Nothing was changed, and the same call may succeed later.
  package var isPassing: Bool {
    switch code {
    case .cannotWrite, .overloaded, .unavailable: true
    case .notFound, .refused, .newerVersion, .locked, .superseded, .wentBackwards, .moved, .relocated, .unknown,
      .corrupt:
      false
    }
  }
}

extension HostState {
  var word: HostWord {
    HostWord(version: version, capabilities: host.capabilities, conditions: host.conditions)
  }
}
