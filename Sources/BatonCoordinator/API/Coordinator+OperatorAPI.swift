import BatonBase
package import BatonModel
package import BatonStore
package import BatonTelemetry
import BatonWire
import Logging
import Synchronization

extension Coordinator: OperatorAPI {
  package func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    let submissions = try submissions(orders, by: principal)
    audit(submissions)
    return results(of: submissions, try await translating { try await self.submit(submissions) })
  }

  package func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    guard (1...FlowPlan.largest).contains(orders.count) else {
      throw OperatorError.invalid("a flow has 1 to \(FlowPlan.largest) jobs, not \(orders.count)")
    }
    guard Set(orders.map(\.id)).count == orders.count else {
      throw OperatorError.invalid("two jobs of a flow have the same submission id; each needs one of its own")
    }
    if let order = orders.first(where: { $0.poke != nil }) {
      throw OperatorError.invalid("a poke of \(order.identifier) cannot be a part of a flow")
    }
    var submissions = try submissions(orders, by: principal)
    // One trace shows the whole flow. Without a submitter's span, that of the first member is above the others.
    let first = submissions[0]
    for position in submissions.indices.dropFirst() {
      submissions[position].trace = .new(under: first.trace, settings.sampler)
      submissions[position].parentSpanID = first.parentSpanID ?? first.trace.spanID
    }
    let members = submissions
    return results(of: members, try await translating { try await self.submitFlow(members) })
  }

  private func submissions(_ orders: [SubmissionOrder], by principal: String) throws -> [Submission] {
    try Self.check(principal)
    if let order = orders.first(where: { $0.id.hasPrefix(SubmittingLaunch.prefix) }) {
      throw OperatorError.invalid(
        "'\(order.id.escapedOnOneLine)' cannot be the id of a submission: ids that begin with "
          + "'\(SubmittingLaunch.prefix)' belong to submissions that launches make")
    }
    return orders.map { order in
      Submission(
        id: order.id, identifier: order.identifier, payload: order.payload,
        earliestBeginDate: order.earliestBeginDate, priority: order.priority, principal: principal,
        trace: .new(under: order.parent, settings.sampler), parentSpanID: order.parent?.spanID, poke: order.poke)
    }
  }

  private func results(of submissions: [Submission], _ answers: [SubmissionAnswer]) -> [SubmissionResult] {
    var warnings = warnings(for: answers.compactMap(\.waiting))[...]
    return zip(submissions, answers).map { submission, answer in
      switch answer {
      case .refused(let refusal): .refused(code: refusal.code, message: refusal.message)
      case .accepted(let receipt, _, _, _):
        .accepted(
          receipt, traceID: receipt.traceID?.description ?? "",
          warning: warning(ignoredDate(of: submission), answer.waiting == nil ? nil : warnings.removeFirst()))
      }
    }
  }

  /// Checks the length of the principal. It is the caller's claim, and nothing proves it. It is stored and shown, so
  /// its length is limited.
  private static func check(_ principal: String) throws {
    do { try WireLimits.principal.check(name: principal) } catch { throw OperatorError.invalid(error.message) }
  }

  /// Logs a poke of priority 10, which may disturb people. The poke is also stored with its request.
  private func audit(_ submissions: [Submission]) {
    for submission in submissions where submission.poke == .immediate {
      logger.notice(
        "a poke of priority 10",
        metadata: [
          Names.LogKey.identifier: "\(submission.identifier)", "principal": "\(submission.principal)",
          "id": "\(submission.id)",
        ])
    }
  }

  package func details(
    _ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice
  ) async throws -> RequestDetails {
    let record = try await lookedAt(identifier, number, choosing: choice)
    var details = try await details(of: record)
    if choice == .ran { details.earlierOutput = try await store.lastOutput(of: identifier, before: record.number) }
    if number == nil, choice != .current, let waiting = try await store.waiting(identifier), waiting.id != record.id {
      details.waiting = try await withUpdates(waiting)
    }
    return details
  }

  /// The request that a person looks at. Looking at it counts as use of its definition.
  func lookedAt(
    _ identifier: JobIdentifier, _ number: Int?, choosing choice: RequestChoice = .current
  ) async throws -> RequestRecord {
    let record = try await request(identifier, number: number, choosing: choice)
    noteUse(of: record)
    return record
  }

  private func noteUse(of record: RequestRecord) {
    decide { state in state.core.decide { $0.used(record.pattern) } }
  }

  /// - Parameter hasPosition: whether the requests that go before it are counted.
  private func details(of record: RequestRecord, hasPosition: Bool = true) async throws -> RequestDetails {
    async let launches = store.launches(of: record.id)
    async let events = store.events(of: record.id)
    async let pokes = store.pokes(of: record.id)
    async let version = store.version(of: record.definition)
    let position = hasPosition ? try await store.position(of: record.id) : nil
    var details = try await RequestDetails(
      record: record, launches: launches, events: events, pokes: pokes, position: position)
    details.version = try await version
    if let flow = record.flow {
      details.flow = try await store.members(of: flow).map { $0.onWallClock(at: now().moment) }
    }
    details.curve = state.withLock {
      $0.core.dispatcher.curve(of: record.id, units: record.progress.completedUnits)
    }
    return details
  }

  package func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws {
    _ = try await lookedAt(identifier, number)
    try await watch(identifier, number: number) { (record: RequestRecord) in
      // A watch looks again at each change, and others may wait for the same answer: it counts nothing.
      try await body(try await self.details(of: record, hasPosition: false))
    }
  }

  package func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation] {
    try Self.check(principal)
    switch selection {
    case .all: return try await cancel(RequestSelection.all, by: principal)
    case .identifier(let identifier, let number?):
      let record = try await request(identifier, number: number)
      return try await cancel(.request(record.id), by: principal)
    case .identifier(let identifier, nil):
      _ = try await request(identifier, number: nil)
      return try await cancel(RequestSelection.identifier(identifier), by: principal)
    case .flow(let flow):
      guard try await translating({ try await self.store.members(of: flow).isEmpty }) == false else {
        throw OperatorError.unknownFlow(flow)
      }
      return try await cancel(RequestSelection.flow(flow), by: principal)
    }
  }

  package func hostReports() async throws -> [HostReport] {
    let fleet = snapshot()
    return fleet.hostNames.compactMap(fleet.report)
  }

  package func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    try await explaining(identifier, number: number).explanation
  }

  package func explain(
    _ identifier: JobIdentifier, number: Int?, groupingBeyond few: Int
  ) async throws -> Explanation {
    let explaining = try await explaining(identifier, number: number)
    return explaining.hostCount > few && explaining.record.state.isPending
      ? explaining.grouped : explaining.explanation
  }

  private func explaining(_ identifier: JobIdentifier, number: Int?) async throws -> Explaining {
    let record = try await request(identifier, number: number)
    // While a request with shards runs, the next shard may wait for a host.
    let isWaiting = record.state.isPending || record.shards.map { $0.ready > 0 } ?? false
    let definition = isWaiting ? try await store.definition(record.definition) : nil
    var examination: ExaminedClass?
    if let definition { examination = try await self.examination(for: record, definition) }
    let position = try await store.position(of: record.id)
    // This comes last, because the explanation says when a person used the definition before.
    noteUse(of: record)
    var own = examination?.fleet ?? []
    if let lanes = record.shards?.obstacle(to: record) { own.insert(lanes, at: 0) }
    if let waits = record.waitsBecause { own.insert(waits, at: 0) }
    return Explaining(
      record: record, own: own,
      position: position, order: examination?.order, reservation: examination?.reservation(of: record),
      hosts: examination?.hosts ?? ExaminedHosts())
  }

  /// The hosts whose certificates an operator has revoked, so that their workers cannot come back by themselves.
  var revokedHosts: Set<HostName> { settings.identities?.revokedHosts ?? [] }
}

extension Coordinator {
  package func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace {
    let record = try await request(identifier, number: number)
    noteUse(of: record)
    let now = now().date
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    let history = state.withLock { $0.core.dispatcher.history(of: requirementClass) }
    let sources = try await store.spans(of: record.id).map { $0.goingOn(history, at: now) }
    return RequestTrace(
      spans: sources.flatMap { $0.spans(asOf: now) }, open: Set(sources.flatMap(\.openSpans)), asOf: now)
  }
}

extension SpanSource {
  /// The source with the obstacles that keep the request waiting at the moment, which are not stored yet.
  fileprivate func goingOn(_ history: WaitHistory, at now: Timestamp) -> SpanSource {
    guard key.parts == .vainWait, let readyAt = wait?.readyAt else { return self }
    var source = self
    source.wait?.obstacles = history.wait(from: readyAt, to: now)
    return source
  }
}

/// The output of each launch that was passed on. The store keeps the last 64 KiB of a launch's output, so the
/// beginning may disappear while a client follows the output.
struct SentOutput {
  private var last: [Int: [UInt8]] = [:]

  /// The part of the launch's output that was not passed on yet; nil if there is nothing new. If the last kilobyte
  /// that was passed on is not found in the output, all of the output is returned.
  mutating func news(of launch: Int, _ output: [UInt8]) -> [UInt8]? {
    defer { last[launch] = output }
    guard let before = last[launch] else { return output.isEmpty ? nil : output }
    if output == before { return nil }
    if output.starts(with: before) { return Array(output[before.count...]) }
    let tail = before.suffix(1024)
    for start in stride(from: output.count - tail.count, through: 0, by: -1)
    where output[start..<start + tail.count] == tail {
      return Array(output[(start + tail.count)...])
    }
    return output
  }
}

extension HostState {
  var reportState: HostReport.State {
    if !host.hasLease { return .gone }
    switch host.conditions.owner {
    case .accepting: break
    case .paused: return .paused
    case .outsideHours: return .outsideHours
    }
    if host.isDraining { return .draining }
    return isPresent ? .ready : .away
  }
}

extension SubmissionAnswer {
  /// The identifier of a request that is ready and was not started at once; otherwise nil.
  fileprivate var waiting: JobIdentifier? {
    if case .accepted(let receipt, _, nil, _) = self, receipt.state == .ready { receipt.identifier } else { nil }
  }
}

extension ShardSummary {
  /// Why the next shard does not become ready; nil if a lane is free, or no shard is left.
  fileprivate func obstacle(to record: RequestRecord) -> Obstacle? {
    // A shard that backs off has a lane; the open shards beyond those with a lane wait for one.
    let isAnyLeft = unitsLeft > 0 || total - ended > lanesInUse
    guard !record.state.isEnded, lanesInUse >= lanes, isAnyLeft else { return nil }
    return .lanesInUse(of: lanes)
  }
}
