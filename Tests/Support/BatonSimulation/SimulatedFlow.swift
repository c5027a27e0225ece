import BatonCoordinator
import BatonModel
import BatonStore

extension Schedule {
  /// A flow that a client submits, and what people do to it meanwhile.
  struct FlowSubmission: Sendable {
    var at: Duration
    var id: String
    /// When the members that have failed are retried; `nil` if they are not.
    var retriesAfter: Duration?
    /// When the second member is cancelled; `nil` if it is not.
    var cancelsAfter: Duration?
  }

  /// The jobs of the flow: `one` comes first, `two` after its success, `other` after its failure, and `last` after
  /// both.
  static let flow = ["one", "two", "other", "last"].map { JobIdentifier(trusted: "flow-\($0)") }

  /// Adds a flow that is submitted one to three times. It comes last, so that the other draws stay as they are.
  mutating func addFlow(_ draw: inout Draw) {
    let (one, two, other) = (Self.flow[0].rawValue, Self.flow[1].rawValue, Self.flow[2].rawValue)
    let after: [[(String, Dependency.End)]] = [[], [(one, .success)], [(one, .failure)], [(two, .any), (other, .any)]]
    for (identifier, after) in zip(Self.flow, after) {
      var definition = Definition(pattern: IdentifierPattern(identifier), kind: .processing)
      definition.requirements.requiresIdle = false
      definition.retry = RetryRule(limit: draw.number(0...2), backoff: .seconds(2))
      let waits = after.compactMap { name, end in JobReference(name).map { Dependency($0, on: end) } }
      definition.after = waits.isEmpty ? nil : waits
      definitions.append(definition)
      batches[identifier] = draw.number(1...3)
      for index in hosts.indices { hosts[index].capabilities.handlers.append(definition.pattern) }
    }
    if draw.chance(50) { troubles[Self.flow[draw.number(0...1)]] = (0, .fails) }
    for index in 0..<draw.number(1...3) {
      flows.append(
        FlowSubmission(
          at: draw.milliseconds(0...Int(calmAt.inSeconds * 700)), id: "flow-\(index)",
          retriesAfter: draw.chance(60) ? draw.milliseconds(2_000...12_000) : nil,
          cancelsAfter: draw.chance(20) ? draw.milliseconds(500...6_000) : nil))
    }
  }
}

/// A client that submits a flow, and repeats the submission with the same ids until it has an answer.
final class SimulatedFlow {
  private let world: World
  private let plan: Schedule.FlowSubmission
  private var draw: Draw
  private var attempt = 0
  private(set) var isAnswered = false

  init(_ world: World, _ plan: Schedule.FlowSubmission, number: Int) {
    (self.world, self.plan) = (world, plan)
    draw = Draw(seed: world.schedule.seed, stream: 6_000 + UInt64(number))
  }

  func start() {
    world.after(plan.at, for: .world) { [self] in try submit() }
    if let delay = plan.cancelsAfter {
      world.after(plan.at + delay, for: .world) { [self] in
        world.anyCoordinator()?.cancel(.identifier(Schedule.flow[1]))
      }
    }
    if let delay = plan.retriesAfter { world.after(plan.at + delay, for: .world) { [self] in try retry() } }
  }

  private func submit() throws {
    guard !isAnswered else { return }
    attempt += 1
    world.after(draw.milliseconds(1_000...4_000), for: .world) { [self] in try submit() }
    guard let coordinator = world.anyCoordinator(), !isLost else { return }
    let members = members
    world.after(draw.milliseconds(1...200), for: coordinator.owner) { [self] in
      try coordinator.submitFlow(members) { [self] in try answered($0) }
    }
  }

  /// Whether the next message is lost: 10 % of them are, until the calm.
  private var isLost: Bool { !world.isCalm && draw.chance(10) }

  private var members: [Submission] {
    Schedule.flow.enumerated().map { index, identifier in
      let span = SpanID(UInt64(attempt) << 32 | UInt64(plan.at.nanoseconds & 0xFFFF_FF00) | UInt64(index) | 1 << 61)
      return Submission(
        id: "\(plan.id).\(index)", identifier: identifier, principal: "client",
        trace: TraceContext(
          traceID: TraceID(high: span.number, low: span.number), spanID: span, isSampled: true))
    }
  }

  /// Takes the answers of the coordinator, which may get lost on their way.
  private func answered(_ answers: [SubmissionAnswer]) throws {
    guard !isLost else { return }
    world.after(draw.milliseconds(1...200), for: .world) { [self] in
      for answer in answers {
        switch answer {
        case .accepted(let receipt, _, _, let isRepeat):
          isAnswered = true
          world.count(.client, isRepeat ? "member of a flow, repeated" : "member of a flow")
          try world.journal.expect(receipt.flow != nil || isRepeat, .submissionLost, "a member of a flow is in none")
        case .refused(.unavailable): break
        case .refused(let refusal): throw world.journal.violation(.crash, "a flow was refused: \(refusal)")
        }
      }
      let accepted = answers.count { if case .accepted = $0 { true } else { false } }
      try world.journal.expect(
        accepted == 0 || accepted == answers.count, .submissionLost, "\(accepted) members of a flow were accepted")
    }
  }

  /// Retries the members that have failed last.
  private func retry() throws {
    guard let coordinator = world.anyCoordinator() else { return }
    let records = try world.store.transaction { verbs in try Schedule.flow.map { try verbs.request($0, number: nil) } }
    for record in records.compactMap(\.self) where record.state == .failed {
      world.count(.client, "retry of a member of a flow")
      coordinator.retry(record)
    }
  }
}

extension SimulatedCoordinator {
  /// What `Coordinator.submitFlow` does in the daemon.
  func submitFlow(_ members: [Submission], then: @escaping ([SubmissionAnswer]) throws -> Void) throws {
    let now = now().moment
    let plans = try tell { $0.plan(members, asFlow: true, at: now, world.drawSpanID) }
    let offers = plans.compactMap(\.offer)
    guard offers.count == members.count else { return }
    writer.write(.submission) {
      try $0.submitFlow(offers, at: now)
    } committed: { _ in
    } then: { [self] result in
      switch result {
      case .success(let answers):
        try tell { $0.submitted(plans, answers) }
        try then(answers)
      case .failure(let error):
        try tell { $0.notSubmitted(plans) }
        try then(members.map { _ in .refused(.unavailable(error.message)) })
      }
    }
  }
}

// MARK: Checks

extension World {
  /// Checks that a member of a flow starts for the first time when everything that it waits for has ended as asked.
  func checkFlow(_ assignment: Assignment) throws {
    guard assignment.launch.number == 1, Schedule.flow.contains(assignment.identifier), aftermath == nil else { return }
    let (record, awaited) = try store.transaction { verbs in
      let record = try verbs.request(assignment.launch.request)
      return (record, try (record?.waitsFor ?? []).map { ($0, try verbs.request($0.request)) })
    }
    guard let record else { return }
    if record.flow != nil, assignment.identifier == Schedule.flow[1] || assignment.identifier == Schedule.flow[2] {
      try journal.expect(awaited.count <= 1, .time, "\(assignment.launch) waits for \(awaited.count) requests")
    }
    for (wait, request) in awaited {
      guard let request else { continue }
      // A request that has failed may have been retried since, and one that its flow has cancelled waits again then.
      let wasRetried =
        journal.everRetried.contains(request.id) || wait.end == .any && !journal.everRetried.isEmpty
      try journal.expect(
        wait.state == .met && (wait.end.isMet(by: request.state) || wasRetried), .time,
        "\(assignment.launch) starts, and request \(request.id) is \(request.state), not \(wait.end)")
    }
  }

  /// Whether a request waits for requests that have all ended.
  func waitsInVain(_ record: RequestRecord, _ unfinished: [RequestRecord]) -> Bool {
    guard record.waitsBecause?.kind == .waitsForOthers else { return false }
    let open = Set(unfinished.map(\.id))
    return record.waitsFor.allSatisfy { !open.contains($0.request) }
  }

  /// Checks that a flow cancels a request only if something that it waits for has ended otherwise than asked, and that
  /// nothing is cancelled otherwise.
  func auditFlow(_ records: [RequestRecord]) throws {
    let states = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0.state) })
    for record in records where record.flow != nil {
      let broken = record.waitsFor.filter { $0.state == .broken }
      let isCancelled = record.state == .cancelled && record.ledger.cancelledBy == Verbs.flowPrincipal
      // What it has waited for may not be kept any more.
      let wasPruned = record.waitsFor.isEmpty && !journal.pruned.isEmpty
      count(.client, isCancelled ? "cancelled by its flow" : "ended in its flow")
      try journal.expect(
        !isCancelled || !broken.isEmpty || wasPruned, .outcome,
        "request \(record.id) was cancelled by its flow, without a cause")
      try journal.expect(
        broken.isEmpty || record.state == .cancelled, .outcome,
        "request \(record.id) is \(record.state), and what it waits for cannot happen")
      for wait in record.waitsFor {
        guard let state = states[wait.request] else { continue }
        let wasRetried = journal.everRetried.contains(wait.request)
        try journal.expect(
          wait.state != .open && (wait.state == .met) == wait.end.isMet(by: state) || wasRetried, .outcome,
          "request \(record.id) has waited for \(wait.end) of \(wait.request), which is \(state), and says \(wait.state)"
        )
      }
    }
  }
}
