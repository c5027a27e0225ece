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
  enum Phase: Sendable {
    /// Waits until the lease of an earlier process of its host has ended.
    case waiting(Hello)
    /// The store is being told of its lease and asked what it runs; `held` is what the dispatcher believed to run there.
    case attaching(Hello, held: [LaunchKey])
    /// The same, and the store is being asked for definitions of its launches.
    case learning(Hello, held: [LaunchKey], [Assignment])
    case attached
  }

  let process: WorkerProcess
  let address: String
  var phase: Phase
  /// What the store has to hear of, and has not been told.
  var pending: [WorkerMessage] = []
  /// Orders made of such messages that were not begun, in groups: each group goes to the store side by side, once the
  /// store has answered the one before.
  var groups: [[StoreOrder]] = []
  /// Orders that the store is carrying out now.
  var open = 0
  /// Nothing more comes from the worker.
  var isClosed = false

  var isAttached: Bool { if case .attached = phase { true } else { false } }
  /// The store has heard everything that the worker said.
  var isSettled: Bool { isAttached && pending.isEmpty && groups.isEmpty && open == 0 }
}

extension CoordinatorCore {
  /// Messages that may wait for the store; a worker that lets more gather is cut off.
  private static let pendingLimit = 65_536

  // MARK: Hello

  /// A worker said hello on a new connection.
  /// - Parameters:
  ///   - address: where the worker is, for messages.
  ///   - id: of the connection; of each hello another one.
  package mutating func hello(_ hello: Hello, from address: String, as id: SessionID, at now: Now) {
    // A process has one connection: one that says hello again has given up the connection before. If both were attached,
    // a launch that is claimed in between would be sent on the old one only.
    for old in unattached[hello.host] ?? [] where sessions[old]?.process == hello.process { end(old, at: now) }
    sessions[id] = Session(process: hello.process, address: address, phase: .waiting(hello))
    unattached[hello.host, default: []].append(id)
    welcome(id, at: now)
  }

  private mutating func welcome(_ id: SessionID, at now: Now) {
    guard let session = sessions[id], case .waiting(let hello) = session.phase else { return }
    switch dispatcher.hello(hello, from: session.address, at: now.instant) {
    case .refused(let text, let isFinal):
      add(.send(id, .refused(text, isFinal: isFinal)))
      tell(.refused(hello.host, address: session.address, text))
      forget(id)
    case .after(let incarnation):
      // Another process of the same name is there: the one before it is gone, and its launches are lost.
      tell(.cameBack(hello.host))
      put(.endLease(hello.host, incarnation, countsAsLoss: hello.host != embeddedHost))
    case .attached(let held):
      sessions[id]?.phase = .attaching(hello, held: held)
      add(.store(.grantLease(id, hello), after: .zero))
    }
  }

  /// A lease has ended: workers of this host that waited for that are welcome.
  mutating func welcomeWaiting(on host: HostName, at now: Now) {
    for id in unattached[host] ?? [] { welcome(id, at: now) }
  }

  /// The store's word on what the host runs. Definitions that are not known are asked for first.
  mutating func read(_ assignments: [Assignment], for id: SessionID, at now: Now) {
    guard case .attaching(let hello, let held)? = sessions[id]?.phase else { return }
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
    wantDispatch()
    let said = sessions[id]?.pending ?? []
    sessions[id]?.pending = []
    if !said.isEmpty { take(said, from: id, at: now) }
    endIfSettled(id, at: now)
  }

  // MARK: The end

  /// The worker says nothing more on this connection. The connection ends once the store has heard what came before.
  package mutating func closed(_ id: SessionID, at now: Now) {
    guard let session = sessions[id], !session.isClosed else { return }
    sessions[id]?.isClosed = true
    if case .waiting = session.phase { return end(id, at: now) }
    endIfSettled(id, at: now)
  }

  /// Nothing of this connection is worth anything any more: whoever carried out its orders is gone.
  package mutating func abandoned(_ id: SessionID, at now: Now) {
    if sessions[id] != nil { end(id, at: now) }
  }

  private mutating func endIfSettled(_ id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    if sessions.values[index].isClosed, sessions.values[index].isSettled { end(id, at: now) }
  }

  private mutating func end(_ id: SessionID, at now: Now) {
    guard let session = sessions[id] else { return }
    let host = session.process.host
    switch session.phase {
    case .waiting: break
    case .attaching, .learning:
      // Not if another connection of this host is there by now.
      if connections[host] == nil { dispatcher.disconnected(host) }
    case .attached where connections[host] == id:
      connections[host] = nil
      dispatcher.disconnected(host)
      lastSeen[host] = now.date
    case .attached: break
    }
    forget(id)
  }

  private mutating func forget(_ id: SessionID) {
    if let session = sessions.removeValue(forKey: id) { removeFromUnattached(id, session.process.host) }
    add(.close(id))
    add(.forget(id))
  }

  private mutating func removeFromUnattached(_ id: SessionID, _ host: HostName) {
    unattached[host]?.removeAll { $0 == id }
    if unattached[host]?.isEmpty == true { unattached[host] = nil }
  }

  // MARK: Messages

  /// What is quick is done at once, above all heartbeats; the rest goes to the store, in the order in which it came.
  /// - Parameter messages: held to their limits.
  package mutating func received(_ messages: [WorkerMessage], from id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id), !sessions.values[index].isClosed else { return }
    if sessions.values[index].isAttached { return take(messages, from: id, at: now) }
    keep(messages, from: id, at: now)
  }

  /// False if these are too many, and the session has ended.
  @discardableResult
  private mutating func keep(_ messages: [WorkerMessage], from id: SessionID, at now: Now) -> Bool {
    guard let index = sessions.index(forKey: id) else { return false }
    sessions.values[index].pending += messages
    if sessions.values[index].pending.count <= Self.pendingLimit { return true }
    end(id, at: now)
    return false
  }

  private mutating func take(_ messages: [WorkerMessage], from id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    let process = sessions.values[index].process
    // Another process of the host holds the lease, or none: this one says hello again before it may say more.
    guard dispatcher.listens(to: process) else { return add(.close(id)) }
    // Progress counts when it is said, not when the disk has it.
    for message in messages {
      if let (launch, step) = message.step { dispatcher.progressed(launch, step, on: process.host) }
    }
    let forStore = messages.filter { !takeAtOnce($0, from: process.host, at: now) }
    if !forStore.isEmpty, keep(forStore, from: id, at: now) { beginGroup(id) }
  }

  /// What needs no store; false for everything else.
  private mutating func takeAtOnce(_ message: WorkerMessage, from host: HostName, at now: Now) -> Bool {
    switch message {
    case .heartbeat(let number):
      lastSeen[host] = now.date
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
    case .items, .itemsWanted, .checkpoint, .output, .ended: return false
    }
    return true
  }

  // MARK: The store's part

  private mutating func beginGroup(_ id: SessionID) {
    guard let index = sessions.index(forKey: id), sessions.values[index].open == 0 else { return }
    if sessions.values[index].groups.isEmpty {
      guard !sessions.values[index].pending.isEmpty else { return }
      let groups = orders(for: sessions.values[index].pending, of: sessions.values[index].process, id)
      sessions.values[index].pending = []
      sessions.values[index].groups = groups
    }
    let group = sessions.values[index].groups.removeFirst()
    sessions.values[index].open = group.count
    for order in group { add(.store(order, after: .zero)) }
  }

  /// A launch has one question open at a time, so what is of one kind goes to the store together, and checkpoints and
  /// endings side by side. Output goes before the ending of its launch, which would have it dropped.
  private func orders(for messages: [WorkerMessage], of process: WorkerProcess, _ id: SessionID) -> [[StoreOrder]] {
    var groups: [[StoreOrder]] = []
    var (checkpoints, endings, chunks): ([Checkpoint], [Ending], [OutputChunk]) = ([], [], [])
    for message in messages {
      switch message {
      case .checkpoint(let checkpoint): checkpoints.append(checkpoint)
      case .ended(let ending): endings.append(ending)
      case .output(let chunk): chunks.append(chunk)
      case .items(let page): groups.append([.appendItems(id, page, process)])
      case .itemsWanted(let launch, let start, let count):
        let count = min(count, ItemPage.maximumItems)
        groups.append([.readItems(id, ItemPage(launch: launch, start: start, items: []), count: count, process)])
      case .hello, .heartbeat, .conditions, .update, .expiring, .overran, .draining: break
      }
    }
    if !chunks.isEmpty { groups.append([.appendOutput(id, chunks, process)]) }
    var last: [StoreOrder] = []
    if !endings.isEmpty { last.append(.end(id, endings, process)) }
    if !checkpoints.isEmpty { last.append(.checkpoint(id, checkpoints, process)) }
    return last.isEmpty ? groups : groups + [last]
  }

  private mutating func finishGroup(_ id: SessionID, at now: Now) {
    guard let index = sessions.index(forKey: id) else { return }
    sessions.values[index].open -= 1
    guard sessions.values[index].open == 0 else { return }
    beginGroup(id)
    endIfSettled(id, at: now)
  }

  // MARK: Answers

  /// The worker is answered here, after the commit, and nowhere else.
  mutating func appended(_ page: ItemPage, _ answer: ItemsAnswer, for id: SessionID, of host: HostName, at now: Now) {
    switch answer {
    case .committed(let count, let isFrozen):
      add(.send(id, .itemsCommitted(page.launch, count: count, isFrozen: isFrozen)))
    case .superseded: add(.send(id, .superseded(page.launch)))
    case .refused(let text): add(.send(id, .refuse(page.launch, text)))
    }
    add(.sendReceipt(id))
    answered([page.launch], on: host)
    finishGroup(id, at: now)
  }

  /// - Parameter items: nil if the launch does not run on that process.
  mutating func read(_ items: [String]?, of page: ItemPage, for id: SessionID, of host: HostName, at now: Now) {
    let answer = items.map { ItemPage(launch: page.launch, start: page.start, items: $0) }
    add(.send(id, answer.map { .items($0) } ?? .superseded(page.launch)))
    answered([page.launch], on: host)
    finishGroup(id, at: now)
  }

  mutating func outputAppended(for id: SessionID, at now: Now) { finishGroup(id, at: now) }

  mutating func checkpointed(
    _ checkpoints: [Checkpoint], _ answers: [CheckpointAnswer], for id: SessionID, of host: HostName, at now: Now
  ) {
    for (checkpoint, answer) in zip(checkpoints, answers) {
      switch answer {
      case .committed(let batch): add(.send(id, .committed(checkpoint.launch, batch: batch)))
      case .superseded: add(.send(id, .superseded(checkpoint.launch)))
      case .refused(let text): add(.send(id, .refuse(checkpoint.launch, text)))
      }
    }
    add(.sendReceipt(id))
    let own = checkpoints.map(\.launch).filter { dispatcher.places[$0] == host }
    // A checkpoint says better than an update how far a launch is.
    for launch in own {
      updates[launch]?.completedUnits = nil
      updates[launch]?.totalUnits = nil
    }
    answered(own, on: host)
    tell(.checkpointed(checkpoints, answers))
    for checkpoint in checkpoints { tell(.changed(checkpoint.launch.request)) }
    finishGroup(id, at: now)
  }

  mutating func ended(
    _ endings: [Ending], _ answers: [EndingAnswer], for id: SessionID, of host: HostName, at now: Now
  ) {
    for ending in endings { add(.send(id, .endingCommitted(ending.launch))) }
    add(.sendReceipt(id))
    ended(answers, saidBy: host)
    for (ending, answer) in zip(endings, answers) where !ending.isGraceful && answer.wasLive { tell(.overran(answer)) }
    finishGroup(id, at: now)
  }

  /// The store did not take what a worker said: the connection ends, and the worker says everything unanswered again,
  /// to this coordinator or to the next one.
  mutating func failedForWorker(_ id: SessionID, at now: Now) {
    add(.close(id))
    finishGroup(id, at: now)
  }

  /// The store did not take the lease: the worker says hello again.
  mutating func failedToAttach(_ id: SessionID, at now: Now) { end(id, at: now) }

  // MARK: What launches say

  /// Keeps what the update says until the next checkpoint or the end of the launch; only its own host may say it.
  private mutating func note(_ update: LaunchUpdate, from host: HostName) {
    tell(.changed(update.launch.request))
    guard dispatcher.places[update.launch] == host else { return }
    var merged = updates[update.launch] ?? LaunchUpdate(launch: update.launch)
    merged.title = update.title ?? merged.title
    merged.subtitle = update.subtitle ?? merged.subtitle
    merged.completedUnits = update.completedUnits ?? merged.completedUnits
    merged.totalUnits = update.totalUnits ?? merged.totalUnits
    updates[update.launch] = merged
  }

  /// A host's conditions have changed: the store keeps them, so that `explain` can judge a host that is gone.
  private mutating func conditionsChanged(_ conditions: Conditions, on host: HostName) {
    dispatcher.conditionsChanged(conditions, on: host)
    if work.reports.isEmpty { put(.noteReports([:])) }
    work.reports[host] = dispatcher.hosts[host]?.word
    wantDispatch()
  }

  /// The store has answered what launches waited for. A slow disk is no stall: the time does not count against them.
  private mutating func answered(_ launches: [LaunchKey], on host: HostName) {
    for launch in launches { dispatcher.progressed(launch, .answered, on: host) }
  }
}

extension CoordinatorMessage {
  /// The launch is not live, or it is another host's.
  fileprivate static func superseded(_ launch: LaunchKey) -> CoordinatorMessage {
    .withdraw(launch, "another launch of this request is live, or it has ended")
  }
}

extension Hello {
  var word: HostWord { HostWord(version: version, capabilities: capabilities, conditions: conditions) }
}
