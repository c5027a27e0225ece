import BatonCoordinator
import BatonModel
import BatonStore

/// The coordinator's end of one connection: hello first, then what is quick at once and the rest to the store, in the
/// order in which it came.
final class Session {
  private enum Phase {
    case new
    /// The store is being asked; what comes waits.
    case attaching
    case attached(WorkerProcess)
    case over
  }

  let link: Link
  private let coordinator: SimulatedCoordinator
  private var phase = Phase.new
  private var inbox: [WorkerMessage] = []
  private var pending: [WorkerMessage] = []
  private var isApplying = false
  /// Nothing more comes up.
  private var isUpClosed = false

  private var world: World { coordinator.world }
  private var writer: Writer { coordinator.writer }

  init(_ link: Link, _ coordinator: SimulatedCoordinator) {
    self.link = link
    self.coordinator = coordinator
  }

  func send(_ message: CoordinatorMessage) {
    guard !link.isClosedByCoordinator else { return }
    world.network.sendDown(link, in: world) { [world, link] in
      world.note("coordinator to \(world.schedule.hosts[link.host].name): \(message.line)")
      try world.workers[link.host].received(message, on: link)
    }
  }

  /// Ends both directions; what came before can still be read, on either side.
  func close() throws {
    if !link.isClosedByCoordinator {
      link.isClosedByCoordinator = true
      world.network.sendDown(link, in: world) { [world, link] in try world.workers[link.host].closed(link) }
    }
    try upClosed()
  }

  func upClosed() throws {
    guard !isUpClosed else { return }
    isUpClosed = true
    // Not within whatever closed it.
    world.after(.microseconds(10), for: coordinator.owner) { [self] in try endIfDone() }
  }

  func received(_ message: WorkerMessage) throws {
    guard !isUpClosed else { return }
    world.note("\(world.schedule.hosts[link.host].name) to coordinator: \(message.line)")
    switch phase {
    case .new:
      guard case .hello(let hello) = message else {
        throw world.journal.violation(.message, "the first message of a connection is \(message.line)")
      }
      phase = .attaching
      try attach(hello)
    case .attaching: inbox.append(message)
    case .attached(let process): try receive([message], from: process)
    case .over: break
    }
  }

  // MARK: Hello

  private func attach(_ hello: Hello) throws {
    switch coordinator.dispatcher.hello(hello, from: "\(hello.host)", at: coordinator.now().instant) {
    case .refused(let text, let isFinal):
      send(.refused(text, isFinal: isFinal))
      phase = .over
      try close()
    case .after(let incarnation):
      coordinator.endLease(hello.host, incarnation, countsAsLoss: true) { [self] in try attach(hello) }
    case .attached(let held):
      world.heard[hello.host] = world.now
      grant(hello, held: held)
    }
  }

  private func grant(_ hello: Hello, held: [LaunchKey]) {
    let now = coordinator.now().moment
    let word = HostWord(version: hello.version, capabilities: hello.capabilities, conditions: hello.conditions)
    writer.write(.urgent) {
      try $0.grantLease(hello.host, hello.incarnation, report: word, at: now)
    } then: { [self] result in
      if case .failure = result { return try giveUp(hello.host) }
      writer.read {
        try $0.assignments(on: hello.host)
      } then: { [self] in
        try attached(hello, held: held, $0)
      }
    }
  }

  private func giveUp(_ host: HostName) throws {
    if coordinator.connections[host] == nil { coordinator.dispatcher.disconnected(host) }
    phase = .over
    try close()
  }

  private func attached(_ hello: Hello, held: [LaunchKey], _ assignments: [Assignment]) throws {
    for id in assignments.map(\.definition) where coordinator.dispatcher.definitions[id] == nil {
      if let definition = try world.store.transaction({ try $0.definition(id) }) {
        coordinator.dispatcher.learn(id, definition)
      }
    }
    try coordinator.connections[hello.host]?.close()
    coordinator.connections[hello.host] = self
    phase = .attached(hello.process)
    try coordinator.decide {
      $0.attached(hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments)
    }
    coordinator.raiseDispatch()
    let waiting = inbox
    inbox = []
    try receive(waiting, from: hello.process)
    try endIfDone()
  }

  /// What was heard is stored before the host counts as away.
  private func endIfDone() throws {
    guard isUpClosed, case .attached(let process) = phase else { return }
    let host = process.host
    try close()
    guard !isApplying, pending.isEmpty else { return }
    phase = .over
    guard coordinator.connections[host] === self else { return }
    coordinator.connections[host] = nil
    coordinator.dispatcher.disconnected(host)
  }

  // MARK: Receiving

  private func receive(_ messages: [WorkerMessage], from process: WorkerProcess) throws {
    guard coordinator.dispatcher.listens(to: process) else { return try close() }
    for message in messages { message.step.map { coordinator.dispatcher.progressed($0.0, $0.1, on: process.host) } }
    for message in messages where try !takeAtOnce(message, from: process.host) { pending.append(message) }
    try applyIfIdle(process)
  }

  private func takeAtOnce(_ message: WorkerMessage, from host: HostName) throws -> Bool {
    switch message {
    case .heartbeat(let number):
      if case .held? = coordinator.dispatcher.hosts[host]?.lease { world.heard[host] = world.now }
      try coordinator.decide { $0.heartbeat(number, from: host, at: coordinator.now().instant) }
    case .conditions(let conditions):
      coordinator.dispatcher.conditionsChanged(conditions, on: host)
      coordinator.noteReport(of: host)
      coordinator.raiseDispatch()
    case .draining: coordinator.dispatcher.workerDrains(host)
    case .expiring(let launch, let reason):
      try coordinator.decide { $0.workerExpires(launch, reason, on: host) }
    case .overran(let launch, let reason):
      try coordinator.decide { $0.workerOverran(launch, reason, on: host) }
    case .hello: try coordinator.decide { _ in [.disconnect(host)] }
    case .update: break
    case .items, .itemsWanted, .checkpoint, .output, .ended: return false
    }
    return true
  }

  // MARK: The store's part

  private func applyIfIdle(_ process: WorkerProcess) throws {
    guard !isApplying, !pending.isEmpty else { return }
    isApplying = true
    let messages = pending
    pending = []
    var open = messages.count
    let done: () throws -> Void = { [self] in
      open -= 1
      guard open == 0 else { return }
      isApplying = false
      try applyIfIdle(process)
      try endIfDone()
    }
    // Checkpoints and endings go to the store side by side: either may be first.
    let endingsFirst = coordinator.draw.chance(50)
    let ordered =
      endingsFirst ? messages.filter(\.isEnding) + messages.filter { !$0.isEnding } : messages
    for message in ordered { try apply(message, from: process, done) }
  }

  private func apply(
    _ message: WorkerMessage, from process: WorkerProcess, _ done: @escaping () throws -> Void
  ) throws {
    let now = coordinator.now().moment
    switch message {
    case .checkpoint(let checkpoint): save(checkpoint, from: process, at: now, done)
    case .ended(let ending): end(ending, from: process, at: now, done)
    case .items(let page):
      writer.write(.urgent) {
        try $0.appendItems(page, from: process)
      } then: { [self] result in
        answer(page, try result.get(), to: process.host)
        try done()
      }
    case .itemsWanted(let launch, let start, let count):
      writer.read {
        try $0.items(of: launch, for: process, start: start, count: min(count, ItemPage.maximumItems))
      } then: { [self] items in
        send(
          items.map { .items(ItemPage(launch: launch, start: start, items: $0)) }
            ?? CheckpointAnswer.withdrawal(of: launch))
        coordinator.answered(launch, on: process.host)
        try done()
      }
    case .hello, .heartbeat, .conditions, .update, .expiring, .overran, .draining, .output: try done()
    }
  }

  private func answer(_ page: ItemPage, _ answer: ItemsAnswer, to host: HostName) {
    switch answer {
    case .committed(let count, let isFrozen): send(.itemsCommitted(page.launch, count: count, isFrozen: isFrozen))
    case .superseded: send(CheckpointAnswer.withdrawal(of: page.launch))
    case .refused(let text): send(.refuse(page.launch, text))
    }
    coordinator.answered(page.launch, on: host)
  }

  private func save(
    _ checkpoint: Checkpoint, from process: WorkerProcess, at now: Moment, _ done: @escaping () throws -> Void
  ) {
    let answersEarly = world.breakage == .answersBeforeCommit
    if answersEarly { send(.committed(checkpoint.launch, batch: checkpoint.batch)) }
    writer.write(.urgent) {
      try $0.checkpoint([checkpoint], from: process, at: now)
    } committed: { [world] answers in
      for answer in answers { try world.journal.checkpointed(checkpoint, answer) }
    } then: { [self] result in
      for answer in try result.get() where !answersEarly { send(answer.message(for: checkpoint)) }
      coordinator.answered(checkpoint.launch, on: process.host)
      try done()
    }
  }

  private func end(
    _ ending: Ending, from process: WorkerProcess, at now: Moment, _ done: @escaping () throws -> Void
  ) {
    writer.write(.urgent) {
      try $0.end([ending], from: process, at: now)
    } committed: { [world] answers in
      for answer in answers {
        try world.journal.expect(
          answer.launch == ending.launch, .outcome, "the ending of \(ending.launch) counts for \(answer.launch)")
        try world.journal.ended(answer, as: ending.outcome, at: now)
      }
    } then: { [self] result in
      send(.endingCommitted(ending.launch))
      for answer in try result.get()
      where answer.wasLive || coordinator.dispatcher.places[answer.launch] == process.host {
        coordinator.note(answer)
      }
      coordinator.raiseDispatch()
      try done()
    }
  }
}

extension SimulatedCoordinator {
  /// What a launch waited for was not its own doing.
  fileprivate func answered(_ launch: LaunchKey, on host: HostName) {
    dispatcher.progressed(launch, .answered, on: host)
  }
}

extension CheckpointAnswer {
  fileprivate func message(for checkpoint: Checkpoint) -> CoordinatorMessage {
    switch self {
    case .committed(let batch): .committed(checkpoint.launch, batch: batch)
    case .superseded: Self.withdrawal(of: checkpoint.launch)
    case .refused(let text): .refuse(checkpoint.launch, text)
    }
  }

  fileprivate static func withdrawal(of launch: LaunchKey) -> CoordinatorMessage {
    .withdraw(launch, "another launch of this request is live, or it has ended")
  }
}

extension WorkerMessage {
  fileprivate var isEnding: Bool { if case .ended = self { true } else { false } }
}
