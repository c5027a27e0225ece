import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
package import BatonWire
import Logging
import Synchronization

/// Serving workers. Each connection has two loops: one takes what is quick at once (heartbeats above all), the other
/// brings to the store whatever has gathered meanwhile, in one transaction.
extension Coordinator {
  /// Serves one worker until either side closes the connection.
  /// - Parameter address: where the worker is, for messages.
  package func serve(_ connection: Connection, from address: String) async throws {
    defer { connection.close() }
    let limit = settings.workers
    guard state.withLock({ $0.streams.open(atMost: limit) }) else { return refuse(connection, from: address) }
    var host: HostName?
    defer { state.withLock { $0.streams.close(of: host) } }
    guard var first = await connection.up.receive(), !first.isEmpty else { return }
    let hello: Hello
    do throws(WireError) {
      guard case .hello(let said) = try first.removeFirst().heldToLimits() else {
        throw WireError("the first message of a worker is its hello")
      }
      hello = said
    } catch {
      return refuse(connection, from: address, .nonsense, because: error.message, isFinal: true)
    }
    guard state.withLock({ $0.streams.claim(hello.host, atMost: limit) }) else {
      return refuse(connection, from: address)
    }
    host = hello.host
    if let objection = try await objection(to: hello) {
      return refuse(connection, from: address, .name, of: hello.host, because: objection)
    }
    try await reconcile(hello, connection)
    do {
      // A task of its own, whose memory goes with it: this one lives as long as the connection.
      async let isAttached = attach(hello, connection, from: address)
      guard try await isAttached else { return }
    }
    defer { detach(hello.host, connection) }
    let pending = Mailbox<WorkerMessage>(capacity: Connection.capacity)
    let rest = first
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.receive(rest, from: hello.process, connection, pending) }
      group.addTask { await self.applyAll(pending, from: hello.process, connection) }
      await group.waitForAll()
    }
  }

  /// It may come back: another one may be gone by then.
  private func refuse(_ connection: Connection, from address: String) {
    let text = "\(settings.workers) workers are connected, and no more are taken; those that leave make room"
    refuse(connection, from: address, .tooMany, because: text)
  }

  /// The worker is told why, and the connection ends. The log says so once, and again each minute.
  private func refuse(
    _ connection: Connection, from address: String, _ kind: RefusalLog.Kind, of host: HostName? = nil,
    because text: String, isFinal: Bool = false
  ) {
    let now = clocks.now().instant
    if state.withLock({ $0.refusals.isNews(kind, of: host, at: now) }) {
      var metadata: Logger.Metadata = ["address": "\(address)", "why": "\(text)"]
      if let host { metadata[Names.LogKey.host] = "\(host)" }
      logger.warning("a worker was refused", metadata: metadata)
    }
    connection.down.send(.refused(text, isFinal: isFinal))
  }

  // MARK: Hello

  private func attach(_ hello: Hello, _ connection: Connection, from address: String) async throws -> Bool {
    guard state.withLock({ $0.isAccepting }) else { return false }
    switch state.withLock({ $0.dispatcher.hello(hello, from: address, at: clocks.now().instant) }) {
    case .refused(let text, let isFinal):
      refuse(connection, from: address, .lease, of: hello.host, because: text, isFinal: isFinal)
      return false
    case .after(let incarnation):
      logger.notice("a worker came back as another process", metadata: [Names.LogKey.host: "\(hello.host)"])
      try await perform(
        endOf: incarnation, on: hello.host, countsAsLoss: hello.host != settings.embeddedHost)
      return try await attach(hello, connection, from: address)
    case .attached(let held):
      do {
        try await attached(hello, held: held, connection)
      } catch {
        // Not if another connection of this host is there by now.
        state.withLock { state in
          if state.connections[hello.host] == nil { state.dispatcher.disconnected(hello.host) }
        }
        throw error
      }
      return true
    }
  }

  /// Another process of the same name is there: the one before it is gone, and its launches are lost.
  func perform(endOf incarnation: Incarnation, on host: HostName, countsAsLoss: Bool) async throws {
    try await endOverrun(of: WorkerProcess(host: host, incarnation: incarnation))
    let answers = try await persistently {
      try await self.store.endLease(host, incarnation, countsAsLoss: countsAsLoss, at: self.now().moment)
    }
    count(answers)
    log(endsOf: answers)
    decide { state in
      state.dispatcher.leaseEnded(host, incarnation)
      for answer in answers { state.note(answer) }
      return []
    }
    for answer in answers { watchers.changed(answer.request) }
  }

  /// The process is gone: what overran there has expired, and is not merely lost with it.
  private func endOverrun(of process: WorkerProcess) async throws {
    let endings = state.withLock { $0.dispatcher.overrunEndings(on: process.host) }
    guard !endings.isEmpty else { return }
    let answers = try await persistently { try await self.store.end(endings, from: process, at: self.now().moment) }
    count(answers)
    state.withLock { state in for answer in answers { state.note(answer) } }
    noteSpans(answers.count)
    for answer in answers {
      warn(of: answer)
      watchers.changed(answer.request)
    }
  }

  private func attached(_ hello: Hello, held: [LaunchKey], _ connection: Connection) async throws {
    let now = now().moment
    try await persistently {
      try await self.store.grantLease(
        hello.host, hello.incarnation, secret: Self.digest(hello.secret), report: hello.word, at: now)
    }
    let assignments = try await persistently { try await self.store.assignments(on: hello.host) }
    let unknown = state.withLock { state in
      assignments.map(\.definition).filter { state.dispatcher.definitions[$0] == nil }
    }
    for id in unknown {
      guard let definition = try await store.definition(id) else { continue }
      state.withLock { $0.dispatcher.learn(id, definition) }
    }
    decide { state in
      state.refusals.forget(hello.host)
      state.connections[hello.host]?.close()
      state.connections[hello.host] = connection
      connection.down.send(.receipt(self.receipt))
      state.lastSeen[hello.host] = now.date
      state.conditionsCame[hello.host] = self.clocks.now().instant
      return state.dispatcher.attached(
        hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments)
    }
    noteAttachment()
    logger.info(
      "a worker is attached", metadata: [Names.LogKey.host: "\(hello.host)", "running": "\(hello.running.count)"])
    dispatchSignal.raise()
  }

  private func detach(_ host: HostName, _ connection: Connection) {
    state.withLock { state in
      guard state.connections[host]?.up === connection.up else { return }
      state.connections[host] = nil
      state.dispatcher.disconnected(host)
      state.lastSeen[host] = clocks.now().date
    }
  }

  // MARK: Receiving

  private func receive(
    _ first: [WorkerMessage], from process: WorkerProcess, _ connection: Connection,
    _ pending: Mailbox<WorkerMessage>
  ) async {
    var messages = first
    do {
      while take(try messages.map { try $0.heldToLimits() }, from: process, pending),
        let next = await connection.up.receive()
      {
        messages = next
      }
    } catch let error as WireError {
      refuse(connection, from: "", .nonsense, of: process.host, because: error.message)
    } catch {
      preconditionFailure("a worker's message was refused with \(error)")
    }
    pending.close()
    connection.close()
  }

  /// False if nothing of this connection can be taken any more.
  ///
  /// Not inlined: what it needs for a moment would be kept in the task of each connection while that waits, 18 KB of it.
  @inline(never)
  private func take(
    _ messages: [WorkerMessage], from process: WorkerProcess, _ pending: Mailbox<WorkerMessage>
  ) -> Bool {
    // Another process of the host holds the lease, or none: this one says hello again before it may say more.
    guard state.withLock({ $0.dispatcher.listens(to: process) }) else { return false }
    noteProgress(messages, of: process)
    let forStore = messages.filter { !takeAtOnce($0, from: process) }
    return forStore.isEmpty || pending.send(contentsOf: forStore)
  }

  /// Progress counts when it is said, not when the disk has it.
  private func noteProgress(_ messages: [WorkerMessage], of process: WorkerProcess) {
    let steps = messages.compactMap(\.step)
    guard !steps.isEmpty else { return }
    decide(for: process) { state in
      for (launch, step) in steps { state.dispatcher.progressed(launch, step, on: process.host) }
      return []
    }
  }

  /// Changes the dispatcher on the word of a worker, unless another process of its host holds the lease by now.
  private func decide(for process: WorkerProcess, _ body: (inout State) -> [Dispatcher.Effect]) {
    decide { $0.dispatcher.listens(to: process) ? body(&$0) : [] }
  }

  /// What needs no store is answered here, whatever the disk does; false for everything else.
  private func takeAtOnce(_ message: WorkerMessage, from process: WorkerProcess) -> Bool {
    let host = process.host
    switch message {
    case .heartbeat(let number):
      decide(for: process) { state in
        state.lastSeen[host] = self.clocks.now().date
        return state.dispatcher.heartbeat(number, from: host, at: self.clocks.now().instant)
      }
    case .conditions(let conditions):
      var isFirst = false
      decide(for: process) { state in
        state.dispatcher.conditionsChanged(conditions, on: host)
        state.conditionsCame[host] = clocks.now().instant
        isFirst = state.reports.isEmpty
        state.reports[host] = state.dispatcher.hosts[host]?.word
        return []
      }
      if isFirst { storeWork.send(.reports) }
      dispatchSignal.raise()
    case .draining:
      decide(for: process) { state in
        state.dispatcher.workerDrains(host)
        return []
      }
    case .expiring(let launch, let reason):
      decide(for: process) { $0.dispatcher.workerExpires(launch, reason, on: host) }
      watchers.changed(launch.request)
    case .overran(let launch, let reason):
      decide(for: process) { $0.dispatcher.workerOverran(launch, reason, on: host) }
      watchers.changed(launch.request)
    case .update(let update):
      decide(for: process) { state in
        state.note(update, from: host)
        return []
      }
      watchers.changed(update.launch.request)
    case .hello:
      decide(for: process) { _ in [.disconnect(host)] }
    case .items, .itemsWanted, .checkpoint, .output, .ended:
      return false
    }
    return true
  }

  // MARK: The store's part

  private func applyAll(
    _ pending: Mailbox<WorkerMessage>, from process: WorkerProcess, _ connection: Connection
  ) async {
    while let messages = await pending.receive() {
      do {
        try await apply(messages, from: process, connection)
        noteSuccess()
      } catch {
        // The worker says everything unanswered again, to this coordinator or to the next one.
        note(error, while: "storing what host \(process.host) says")
        connection.close()
      }
    }
  }

  /// A launch has one question open at a time, so the kinds can go to the store side by side.
  private func apply(
    _ messages: [WorkerMessage], from process: WorkerProcess, _ connection: Connection
  ) async throws {
    var checkpoints: [Checkpoint] = []
    var endings: [Ending] = []
    var chunks: [OutputChunk] = []
    for message in messages {
      switch message {
      case .checkpoint(let checkpoint): checkpoints.append(checkpoint)
      case .ended(let ending): endings.append(ending)
      case .output(let chunk): chunks.append(chunk)
      case .items(let page): try await append(page, from: process, connection)
      case .itemsWanted(let launch, let start, let count):
        let items = try await store.items(
          of: launch, for: process, start: start, count: min(count, ItemPage.maximumItems))
        connection.down.send(
          items.map { .items(ItemPage(launch: launch, start: start, items: $0)) } ?? .superseded(launch))
        state.withLock { $0.answered([launch], on: process.host) }
      case .hello, .heartbeat, .conditions, .update, .expiring, .overran, .draining: break
      }
    }
    try await append(chunks, from: process)
    if checkpoints.isEmpty { return try await end(endings, from: process, connection) }
    async let closed: Void = end(endings, from: process, connection)
    try await save(checkpoints, from: process, connection)
    try await closed
  }

  /// Output is what can be done without: under overload it is dropped, and the launch goes on.
  private func append(_ chunks: [OutputChunk], from process: WorkerProcess) async throws {
    guard !chunks.isEmpty else { return }
    do {
      try await store.appendOutput(chunks, from: process)
    } catch let error as StoreError where error.code == .overloaded {
      // Not noted as a failure: what is refused beside it is, and each message would say it once more.
      logger.debug("output was dropped: \(error.message)")
    }
  }

  private func append(
    _ page: ItemPage, from process: WorkerProcess, _ connection: Connection
  ) async throws {
    switch try await store.appendItems(page, from: process) {
    case .committed(let count, let isFrozen):
      connection.down.send(.itemsCommitted(page.launch, count: count, isFrozen: isFrozen))
    case .superseded: connection.down.send(.superseded(page.launch))
    case .refused(let text): connection.down.send(.refuse(page.launch, text))
    }
    connection.down.send(.receipt(receipt))
    state.withLock { $0.answered([page.launch], on: process.host) }
  }

  private func save(
    _ checkpoints: [Checkpoint], from process: WorkerProcess, _ connection: Connection
  ) async throws {
    guard !checkpoints.isEmpty else { return }
    let answers = try await store.checkpoint(checkpoints, from: process, at: now().moment)
    let messages = zip(checkpoints, answers).map { checkpoint, answer -> CoordinatorMessage in
      switch answer {
      case .committed(let batch): .committed(checkpoint.launch, batch: batch)
      case .superseded: .superseded(checkpoint.launch)
      case .refused(let text): .refuse(checkpoint.launch, text)
      }
    }
    connection.down.send(contentsOf: messages + [.receipt(receipt)])
    count(checkpoints, answers)
    state.withLock { state in
      let own = checkpoints.map(\.launch).filter { state.dispatcher.places[$0] == process.host }
      for launch in own { state.updates[launch]?.settle() }
      state.answered(own, on: process.host)
    }
    for checkpoint in checkpoints { watchers.changed(checkpoint.launch.request) }
    for (checkpoint, answer) in zip(checkpoints, answers) where answer == .superseded {
      await log(superseded: checkpoint, from: process.host)
    }
  }

  private func end(
    _ endings: [Ending], from process: WorkerProcess, _ connection: Connection
  ) async throws {
    guard !endings.isEmpty else { return }
    let answers = try await store.end(endings, from: process, at: now().moment)
    connection.down.send(contentsOf: endings.map { .endingCommitted($0.launch) } + [.receipt(receipt)])
    count(answers)
    log(endsOf: answers)
    state.withLock { state in
      // A launch of another host goes on, whatever this one says of it.
      for answer in answers where answer.wasLive || state.dispatcher.places[answer.launch] == process.host {
        state.note(answer)
      }
    }
    dispatchSignal.raise()
    noteSpans(answers.count)
    for (ending, answer) in zip(endings, answers) {
      if !ending.isGraceful, answer.wasLive { warn(of: answer) }
      watchers.changed(answer.request)
    }
  }

  private func warn(of answer: EndingAnswer) {
    logger.warning(
      "a launch ignored its expiry, and was ended at its deadline",
      metadata: answer.subject.map { .launch($0) }
        ?? [Names.LogKey.identifier: "\(answer.identifier)", Names.LogKey.launchKey: "\(answer.launch)"])
  }
}

extension CoordinatorMessage {
  /// The launch is not live, or it is another host's.
  fileprivate static func superseded(_ launch: LaunchKey) -> CoordinatorMessage {
    .withdraw(launch, "another launch of this request is live, or it has ended")
  }
}

extension Hello {
  fileprivate var word: HostWord { HostWord(version: version, capabilities: capabilities, conditions: conditions) }
}

extension HostState {
  fileprivate var word: HostWord {
    HostWord(version: version, capabilities: host.capabilities, conditions: host.conditions)
  }
}

extension Coordinator.State {
  /// What a launch waited for was not its own doing: a slow disk is no stall.
  fileprivate mutating func answered(_ launches: [LaunchKey], on host: HostName) {
    for launch in launches { dispatcher.progressed(launch, .answered, on: host) }
  }

  /// Keeps what the update says until the next checkpoint or the end of the launch; only its own host may say it.
  mutating func note(_ update: LaunchUpdate, from host: HostName) {
    guard dispatcher.places[update.launch] == host else { return }
    var merged = updates[update.launch] ?? LaunchUpdate(launch: update.launch)
    merged.title = update.title ?? merged.title
    merged.subtitle = update.subtitle ?? merged.subtitle
    merged.completedUnits = update.completedUnits ?? merged.completedUnits
    merged.totalUnits = update.totalUnits ?? merged.totalUnits
    updates[update.launch] = merged
  }
}

extension LaunchUpdate {
  /// A checkpoint says better how far the launch is.
  fileprivate mutating func settle() { (completedUnits, totalUnits) = (nil, nil) }
}
