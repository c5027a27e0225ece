package import BatonModel
import BatonStore

/// Names one connection of a worker, from its hello to its end.
package struct SessionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let number: Int
  package init(_ number: Int) { self.number = number }
  package var description: String { "session \(number)" }
  package static func < (left: SessionID, right: SessionID) -> Bool { left.number < right.number }
}

/// What the core knows of one connection.
struct Session: Sendable {
  /// Indirect, because a hello is large, and a session is copied with each message of an attached worker.
  indirect enum Phase: Sendable {
    /// The store is asked whose the host's name is, and whether it has everything that the worker was told.
    case examining(Hello, Proof)
    /// The worker belongs to another history of the store. The store is asked what runs on the host, to end it. The
    /// launches are those that the worker runs.
    case disowning(Hello, because: String, [LaunchKey])
    /// Waits until the lease of an earlier process of its host has ended.
    case waiting(Hello)
    /// The store has been ordered to grant the lease and is asked which launches run on the host. `held` has the
    /// launches that the dispatcher believed to run there.
    case attaching(Hello, held: [LaunchKey])
    /// The launches are known, and the store is asked for their definitions, which the core has not read yet.
    case learning(Hello, held: [LaunchKey], [Assignment])
    case attached
  }

  let process: WorkerProcess
  let address: String
  /// The SHA-256 of the worker's secret.
  var secret: [UInt8]?
  var phase: Phase
  /// Messages that the store has to process and that are not part of an order yet.
  var pending: [WorkerMessage] = []
  /// Groups of orders, made of such messages, that have not been started. The orders of one group go to the store
  /// concurrently, after the store has answered the previous group.
  var groups: [[StoreOrder]] = []
  /// Orders that the store is carrying out now.
  var open = 0
  /// The worker sends nothing more on this connection.
  var isClosed = false

  var isAttached: Bool { if case .attached = phase { true } else { false } }
  /// The store has processed everything that the worker said.
  var isSettled: Bool { isAttached && pending.isEmpty && groups.isEmpty && open == 0 }
}

extension CoordinatorCore {
  /// The most messages that may wait for the store. A connection on which more gather is closed.
  private static let pendingLimit = 65_536

  // MARK: The end

  /// The worker sends nothing more on this connection. The session ends after the store has processed what the worker
  /// said before.
  package mutating func closed(_ id: SessionID, at now: Now) {
    guard let session = sessions[id], !session.isClosed else { return }
    sessions[id]?.isClosed = true
    switch session.phase {
    case .examining, .disowning, .waiting: end(id, at: now)
    case .attaching, .learning, .attached: endIfSettled(id, at: now)
    }
  }

  /// Ends the session at once. The task that carried out its orders has ended, so the outcomes of open orders will
  /// never be told.
  package mutating func abandoned(_ id: SessionID, at now: Now) {
    if sessions[id] != nil { end(id, at: now) }
  }

  mutating func endIfSettled(_ id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    if sessions.values[index].isClosed, sessions.values[index].isSettled { end(id, at: now) }
  }

  mutating func end(_ id: SessionID, at now: Now) {
    guard let session = sessions[id] else { return }
    let host = session.process.host
    switch session.phase {
    case .examining, .disowning, .waiting: break
    case .attaching, .learning:
      // Another connection of this host may be attached by now; then the host stays connected.
      if connections[host] == nil { dispatcher.disconnected(host) }
    case .attached where connections[host] == id:
      connections[host] = nil
      dispatcher.disconnected(host)
      tellOfLaunches(on: host)
      lastSeen[host] = now.date
      if standing.isShared, let lease = dispatcher.hosts[host]?.ownLease {
        put(.noteAway(lease, link: Int64(id.number)))
      }
    case .attached: break
    }
    forget(id)
  }

  /// Tells those who watch the requests that run on the host that its connection has come or gone.
  mutating func tellOfLaunches(on host: HostName) {
    for launch in (dispatcher.hosts[host]?.launches.keys.sorted() ?? []) { tell(.changed(launch.request)) }
  }

  mutating func forget(_ id: SessionID) {
    if let session = sessions.removeValue(forKey: id) { removeFromUnattached(id, session.process.host) }
    add(.close(id))
    add(.forget(id))
  }

  mutating func removeFromUnattached(_ id: SessionID, _ host: HostName) {
    unattached[host]?.removeAll { $0 == id }
    if unattached[host]?.isEmpty == true { unattached[host] = nil }
  }

  // MARK: Messages

  /// Takes messages of a worker. Messages that need no store, above all heartbeats, take effect at once; the other
  /// messages go to the store in the order in which they came.
  /// - Parameter messages: messages whose limits have been checked.
  package mutating func received(_ messages: [WorkerMessage], from id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id), !sessions.values[index].isClosed else { return }
    if sessions.values[index].isAttached { return take(messages, from: id, at: now) }
    keep(messages, from: id, at: now)
  }

  /// Keeps messages until the store can process them.
  /// - Returns: false if more than `pendingLimit` messages wait, and the session has been ended.
  @discardableResult
  private mutating func keep(_ messages: [WorkerMessage], from id: SessionID, at now: Now) -> Bool {
    guard let index = sessions.index(forKey: id) else { return false }
    sessions.values[index].pending += messages
    if sessions.values[index].pending.count <= Self.pendingLimit { return true }
    end(id, at: now)
    return false
  }

  mutating func take(_ messages: [WorkerMessage], from id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    let process = sessions.values[index].process
    // The process does not hold the host's lease (any more). It has to say hello again before its messages count.
    guard dispatcher.listens(to: process) else { return add(.close(id)) }
    // Progress counts when the worker reports it, not when it is on the disk.
    for message in messages {
      if let (launch, step) = message.step { dispatcher.progressed(launch, step, on: process.host) }
    }
    let forStore = messages.filter { !takeAtOnce($0, from: process.host, at: now) }
    if !forStore.isEmpty, keep(forStore, from: id, at: now) { beginGroup(id, at: now) }
  }

  /// Performs a message that needs no store.
  /// - Returns: false if the message is for the store.
  private mutating func takeAtOnce(_ message: WorkerMessage, from host: HostName, at now: Now) -> Bool {
    switch message {
    case .heartbeat(let number):
      lastSeen[host] = now.date
      // Another coordinator may have taken over the host since the last beat that the store has confirmed.
      guard standing.isConfirmed(at: now.instant) else { return true }
      perform(dispatcher.heartbeat(number, from: host, at: now.instant))
    case .conditions(let conditions):
      conditionsCame[host] = now.instant
      conditionsChanged(conditions, on: host)
    case .draining: dispatcher.workerDrains(host)
    case .expiring(let launch, let reason):
      perform(dispatcher.workerExpires(launch, reason, on: host))
      tell(.changed(launch.request))
    case .overran(let launch, let reason):
      perform(dispatcher.workerOverran(launch, reason, on: host))
      tell(.changed(launch.request))
    case .update(let update): note(update, from: host)
    case .hello: perform([.disconnect(host)])
    // The driver has taken it.
    case .transfers: break
    case .items, .itemsWanted, .checkpoint, .output, .ended, .submission: return false
    }
    return true
  }

  // MARK: The store's part

  private mutating func beginGroup(_ id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id), sessions.values[index].open == 0 else { return }
    if sessions.values[index].groups.isEmpty {
      guard !sessions.values[index].pending.isEmpty else { return }
      let groups = Self.orders(
        for: sessions.values[index].pending, of: sessions.values[index].process, id, at: now.date)
      sessions.values[index].pending = []
      sessions.values[index].groups = groups
    }
    let group = sessions.values[index].groups.removeFirst()
    sessions.values[index].open = group.count
    for order in group { add(.store(order, after: .zero)) }
  }

  /// Groups the messages into orders. A launch has one question open at a time, so messages of one kind can go to the
  /// store together, and checkpoints and endings concurrently; a checkpoint and the ending of one launch are one order.
  /// Output goes before the ending of its launch, because the store drops output of a launch that has ended.
  private static func orders(
    for messages: [WorkerMessage], of process: WorkerProcess, _ id: SessionID, at now: Timestamp
  ) -> [[StoreOrder]] {
    var groups: [[StoreOrder]] = []
    var (checkpoints, endings, chunks): ([Checkpoint], [Ending], [OutputChunk]) = ([], [], [])
    var submissions: [SubmittingLaunch] = []
    for message in messages {
      switch message {
      case .checkpoint(let checkpoint): checkpoints.append(checkpoint)
      case .ended(let ending): endings.append(ending)
      case .output(let chunk): chunks.append(OutputChunk(launch: chunk.launch, bytes: chunk.bytes, takenAt: now))
      case .items(let page): groups.append([.appendItems(id, page, process)])
      case .itemsWanted(let launch, let start, let count):
        let count = min(count, ItemPage.maximumItems)
        groups.append([.readItems(id, ItemPage(launch: launch, start: start, items: []), count: count, process)])
      case .submission(let launch, let submission):
        submissions.append(SubmittingLaunch(launch: launch, submission: submission))
      case .hello, .heartbeat, .conditions, .update, .expiring, .overran, .draining, .transfers: break
      }
    }
    if !submissions.isEmpty { groups.append([.submit(id, submissions, process)]) }
    if !chunks.isEmpty { groups.append([.appendOutput(id, chunks, process)]) }
    var last: [StoreOrder] = []
    if !endings.isEmpty {
      let ended = Set(endings.map(\.launch))
      last.append(.end(id, endings, after: checkpoints.filter { ended.contains($0.launch) }, process))
      checkpoints.removeAll { ended.contains($0.launch) }
    }
    if !checkpoints.isEmpty { last.append(.checkpoint(id, checkpoints, process)) }
    return last.isEmpty ? groups : groups + [last]
  }

  private mutating func finishGroup(_ id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    sessions.values[index].open -= 1
    guard sessions.values[index].open == 0 else { return }
    beginGroup(id, at: now)
    endIfSettled(id, at: now)
  }

  // MARK: Answers

  /// Sends the store's answer to the worker. This happens only here, after the commit.
  mutating func appended(_ page: ItemPage, _ answer: ItemsAnswer, for id: SessionID, of host: HostName, at now: Now) {
    switch answer {
    case .committed(let count, let isFrozen, let end, let madeShards):
      add(.send(id, .itemsCommitted(page.launch, count: count, isFrozen: isFrozen, end: end)))
      if madeShards { shardsBecameReady(beside: page.launch, on: host) }
    case .superseded: add(.send(id, .superseded(page.launch)))
    case .refused(let text): add(.send(id, .refuse(page.launch, text)))
    }
    add(.sendReceipt(id))
    answered([page.launch], on: host)
    finishGroup(id, at: now)
  }

  /// The store has cut a request into shards, and those beside the one that runs are ready.
  private mutating func shardsBecameReady(beside launch: LaunchKey, on host: HostName) {
    guard let state = dispatcher.hosts[host]?.launches[launch] else { return add(.store(.findReady, after: .zero)) }
    dispatcher.noteReady(state.requirementClass)
    wantDispatch()
  }

  /// Sends the items that were read to the worker.
  /// - Parameter items: nil if the launch does not run on the process that asked.
  mutating func read(_ items: [String]?, of page: ItemPage, for id: SessionID, of host: HostName, at now: Now) {
    let answer = items.map { ItemPage(launch: page.launch, start: page.start, items: $0) }
    add(.send(id, answer.map { .items($0) } ?? .superseded(page.launch)))
    answered([page.launch], on: host)
    finishGroup(id, at: now)
  }

  /// Tells the worker how the submissions of its launches were answered.
  mutating func submitted(_ answered: [AnsweredLaunch], for id: SessionID, of host: HostName, at now: Now) {
    for one in answered {
      let answer = one.answer.map { CoordinatorMessage.submitted(one.launch, name: one.name, $0) }
      add(.send(id, answer ?? .superseded(one.launch)))
    }
    add(.sendReceipt(id))
    self.answered(answered.map(\.launch), on: host)
    finishGroup(id, at: now)
  }

  /// The output of these requests is stored, or was dropped because the store is overloaded: then there are none.
  mutating func outputAppended(of requests: Set<RequestID>, for id: SessionID, at now: Now) {
    for request in requests { tell(.changed(request)) }
    finishGroup(id, at: now)
  }

  mutating func checkpointed(
    _ checkpoints: [Checkpoint], _ answers: [CheckpointAnswer], for id: SessionID, of host: HostName, at now: Now
  ) {
    for (checkpoint, answer) in zip(checkpoints, answers) {
      switch answer {
      case .committed(let batch, let end): add(.send(id, .committed(checkpoint.launch, batch: batch, end: end)))
      case .superseded: add(.send(id, .superseded(checkpoint.launch)))
      case .refused(let text): add(.send(id, .refuse(checkpoint.launch, text)))
      }
    }
    add(.sendReceipt(id))
    let own = checkpoints.map(\.launch).filter { dispatcher.places[$0] == host }
    // The checkpoint's progress is newer than that of earlier updates.
    for launch in own {
      guard updates[launch] != nil else { continue }
      updates[launch]?.completedUnits = nil
      updates[launch]?.totalUnits = nil
      if standing.isShared { untoldUpdates.insert(launch) }
    }
    answered(own, on: host)
    tell(.checkpointed(checkpoints, answers))
    for checkpoint in checkpoints { tell(.changed(checkpoint.launch.request)) }
    finishGroup(id, at: now)
  }

  /// - Parameter checkpoints: the last checkpoints of some of the launches. The worker does not wait for their answers.
  mutating func ended(
    _ endings: [Ending], after checkpoints: [Checkpoint], _ answers: [EndingAnswer], for id: SessionID,
    of host: HostName, at now: Now
  ) {
    if !checkpoints.isEmpty {
      let saved = checkpoints.compactMap { checkpoint in
        answers.first { $0.launch == checkpoint.launch }?.checkpoint.map { (checkpoint, $0) }
      }
      tell(.checkpointed(saved.map(\.0), saved.map(\.1)))
    }
    for ending in endings { add(.send(id, .endingCommitted(ending.launch))) }
    add(.sendReceipt(id))
    ended(answers, saidBy: host)
    for (ending, answer) in zip(endings, answers) where !ending.isGraceful && answer.wasLive { tell(.overran(answer)) }
    finishGroup(id, at: now)
  }

  /// The store failed to store what a worker said. The connection ends, and the worker repeats all unanswered messages
  /// to this coordinator or to the next one. Those that came later are dropped: an ending must not be stored without
  /// the checkpoint that was said before it. Output alone is not repeated.
  mutating func failedForWorker(_ id: SessionID, at now: Now) {
    add(.close(id))
    if let index = sessions.index(forKey: id) {
      sessions.values[index].pending.removeAll { if case .output = $0 { false } else { true } }
      let groups = sessions.values[index].groups.map { group in
        group.filter { if case .appendOutput = $0 { true } else { false } }
      }
      sessions.values[index].groups = groups.filter { !$0.isEmpty }
    }
    finishGroup(id, at: now)
  }

  /// The store failed to grant the lease or to read the launches. The session ends, and the worker has to say hello
  /// again.
  mutating func failedToAttach(_ id: SessionID, because error: StoreError, at now: Now) {
    if error.code == .refused, let session = sessions[id], case .attaching(let hello, _) = session.phase {
      add(.send(id, .refused(error.message, isFinal: false)))
      tell(.refused(hello.host, address: session.address, error.message))
    }
    end(id, at: now)
  }

  // MARK: What launches say

  /// Keeps the content of the update until the next checkpoint or the end of the launch. An update from a host where
  /// the launch does not run is ignored.
  private mutating func note(_ update: LaunchUpdate, from host: HostName) {
    tell(.changed(update.launch.request))
    guard dispatcher.places[update.launch] == host else { return }
    var merged = updates[update.launch] ?? LaunchUpdate(launch: update.launch)
    merged.title = update.title ?? merged.title
    merged.subtitle = update.subtitle ?? merged.subtitle
    merged.completedUnits = update.completedUnits ?? merged.completedUnits
    merged.totalUnits = update.totalUnits ?? merged.totalUnits
    updates[update.launch] = merged
    if standing.isShared { untoldUpdates.insert(update.launch) }
  }

  /// Updates that other coordinators do not know yet, at most `limit`. They count as told.
  mutating func takeUntoldUpdates(_ limit: Int) -> [LaunchUpdate] {
    guard hasOthers else { return [] }
    let launches = untoldUpdates.sorted().prefix(limit)
    untoldUpdates.subtract(launches)
    return launches.compactMap { updates[$0] }
  }

  /// The store did not take these updates.
  mutating func keepUntold(_ updates: [LaunchUpdate]) {
    untoldUpdates.formUnion(updates.map(\.launch).filter { self.updates[$0] != nil })
  }

  /// Whether the launch runs on a host that this coordinator serves, so that it hears the updates itself.
  func hears(_ launch: LaunchKey) -> Bool {
    guard let host = dispatcher.places[launch] else { return false }
    return dispatcher.hosts[host]?.lease != .elsewhere
  }

  /// Takes over a host's changed conditions. The store keeps them too, so that `explain` can judge a host that is
  /// gone.
  private mutating func conditionsChanged(_ conditions: Conditions, on host: HostName) {
    dispatcher.conditionsChanged(conditions, on: host)
    // The order may start at once, and takes the reports that are there then.
    let isQueued = !work.reports.isEmpty
    guard let lease = dispatcher.hosts[host]?.ownLease else { return wantDispatch() }
    work.reports[lease] = dispatcher.hosts[host]?.word
    if !isQueued { put(.noteReports([:])) }
    wantDispatch()
  }

  /// Notes that the store has answered launches that waited for it. The time that a slow disk takes does not count
  /// towards a stall.
  private mutating func answered(_ launches: [LaunchKey], on host: HostName) {
    for launch in launches { dispatcher.progressed(launch, .answered, on: host) }
  }
}

extension CoordinatorMessage {
  /// The answer for a launch that is not live, or that runs on another host.
  fileprivate static func superseded(_ launch: LaunchKey) -> CoordinatorMessage {
    .withdraw(launch, "another launch of this request is live, or it has ended")
  }
}

extension Hello {
  var word: HostWord { HostWord(version: version, capabilities: capabilities, conditions: conditions) }
}
