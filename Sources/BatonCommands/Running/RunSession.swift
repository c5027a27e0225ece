import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import Synchronization

/// How a run ended: the requests, and those that can never run here.
struct RunEnd: Sendable {
  /// The requests as they were last seen, in the order of the identifiers.
  var records: [RequestRecord]
  /// The explanations of the requests that this machine can never take.
  var impossible: [Explanation] = []
}

/// `baton run` with the coordinator of this process: applies the definitions, goes on with or submits their requests,
/// and follows them until they have ended. `RunCommand` calls `prepare(_:)`, then `run(_:)`.
struct RunSession: Sendable {
  let console: Console
  let display: ProgressDisplay
  let definitions: [Definition]
  let identifiers: [JobIdentifier]
  let marker: RunMarker
  /// Whether the person asked for a start from the beginning (`--anew`).
  let isAnew: Bool
  /// The command with which a person goes on with this run.
  let commandLine: String
  /// Shows what the commands write; nil if the person wants to hear nothing.
  let output: LiveOutput?
  private let start = Start()

  init(
    console: Console, display: ProgressDisplay, definitions: [Definition], identifiers: [JobIdentifier],
    marker: RunMarker, isAnew: Bool, commandLine: String, output: LiveOutput? = nil
  ) {
    self.output = output
    (self.console, self.display, self.definitions) = (console, display, definitions)
    (self.identifiers, self.marker, self.isAnew, self.commandLine) = (identifiers, marker, isAnew, commandLine)
  }

  /// Carries the results of `prepare(_:)` to `run(_:)`.
  private final class Start: Sendable {
    struct State: Sendable {
      var plan: RunPlan
      var applied: [AppliedDefinition]
      var names: [JobIdentifier: RequestName]
    }
    let state = Mutex<State?>(nil)
  }

  /// Applies the definitions, and gives them to the requests of an earlier run that go on. Call it before any launch
  /// can start, because a running request takes no new definition.
  /// - Throws: `OperatorError.conflict` if a request cannot go on at its checkpoint under its new definition.
  @Sendable func prepare(_ api: any OperatorAPI) async throws {
    if let ignored = definitions.ignoredByRun { display.note(ignored) }
    let known = try await requests(api)
    let applied = try await api.apply(definitions)
    let current = Dictionary(applied.compactMap { one in one.pattern.literal.map { ($0, one.id) } }) { $1 }
    let plan = RunPlan(identifiers, known: known, definitions: current, isFinished: marker.isSet, isAnew: isAnew)
    let names = try await goOn(plan, api)
    start.state.withLock { $0 = Start.State(plan: plan, applied: applied, names: names) }
  }

  /// Submits what is missing, and follows all requests. If all have succeeded, it sets the marker, so that the next run
  /// starts from the beginning; otherwise it shows the last output of failed launches.
  /// - Returns: the requests in the order of the identifiers. Each has ended, or can never start on this machine.
  func run(_ api: any OperatorAPI) async throws -> RunEnd {
    let names = try await begin(api)
    let following = Following(names, display: display)
    let waiting = RunWaiting(following: following, display: display)
    let impossible = try await racing(interruption: stop) {
      try await waiting.run(api) {
        async let shown: Void? = output?.follow(names, api)
        _ = try await following.run(api)
        _ = await shown
      }
    }
    display.redraw()
    let records = following.records
    if records.allSatisfy({ $0.state == .succeeded }) { try marker.set() } else { try await tellOutput(records, api) }
    return RunEnd(records: records, impossible: impossible)
  }

  private func stop() -> String {
    display.leave()
    display.note("stopping: a running batch may finish and is saved; Ctrl-C again ends at once")
    return "stopped; go on with: \(commandLine)"
  }

  /// Submits the requests that are missing after `prepare(_:)`.
  /// - Returns: the names of all requests, in the order of the identifiers.
  private func begin(_ api: any OperatorAPI) async throws -> [RequestName] {
    guard let start = start.state.withLock({ $0 }) else { preconditionFailure("a run began without its preparation") }
    let (plan, applied) = (start.plan, start.applied)
    var names = start.names
    // A definition that repeats got its first request when it was applied.
    for case (let identifier, let receipt?) in applied.map({ ($0.pattern.literal, $0.submitted) }) {
      if let identifier { names[identifier] = RequestName(identifier: identifier, number: receipt.number) }
    }
    let missing = plan.entries.filter { $0.step.submits && names[$0.identifier] == nil }.map(\.identifier)
    names.merge(try await submit(missing, api)) { $1 }
    try marker.clear()
    return identifiers.compactMap { names[$0] }
  }

  private func requests(_ api: any OperatorAPI) async throws -> [JobIdentifier: RequestRecord] {
    var known: [JobIdentifier: RequestRecord] = [:]
    for identifier in identifiers {
      do {
        known[identifier] = try await api.details(identifier, number: nil).record
      } catch OperatorError.notFound {}  // The identifier has not run before.
    }
    return known
  }

  private func goOn(_ plan: RunPlan, _ api: any OperatorAPI) async throws -> [JobIdentifier: RequestName] {
    var names: [JobIdentifier: RequestName] = [:]
    for entry in plan.entries {
      switch entry.step {
      case .submit: break
      case .goOn(let record), .settled(let record):
        if entry.isOutdated {
          tellRepaired(try await api.redefine(record.identifier, number: record.number))
        } else {
          tell(record)
        }
        names[entry.identifier] = record.name
      case .retry(let record):
        let retried = try await api.retry(
          record.identifier, number: record.number, skipping: .nothing, withNewDefinition: entry.isOutdated)
        entry.isOutdated ? tellRepaired(retried) : tell(retried, again: true)
        names[entry.identifier] = record.name
      case .replace(let record):
        _ = try await api.cancel(.identifier(record.identifier, number: nil), by: console.environment.user)
      }
    }
    return names
  }

  private func submit(
    _ identifiers: [JobIdentifier], _ api: any OperatorAPI
  ) async throws -> [JobIdentifier: RequestName] {
    let orders = identifiers.map {
      SubmissionOrder(
        id: console.environment.drawSubmissionID(), identifier: $0, parent: console.environment.submitterSpan)
    }
    guard !orders.isEmpty else { return [:] }
    var names: [JobIdentifier: RequestName] = [:]
    for (order, result) in zip(orders, try await api.submit(orders, by: console.environment.user)) {
      switch result {
      case .accepted(let receipt, _, let warning):
        if let warning { display.warning("\(order.identifier): \(warning.onOneLine)") }
        names[order.identifier] = RequestName(identifier: order.identifier, number: receipt.number)
      case .refused(let code, let message):
        throw CommandFailure(
          ExitStatus(refusalCode: code), "\(order.identifier): \("\(code): \(message)".onOneLine)")
      }
    }
    return names
  }
}

extension RunSession {
  private func tellRepaired(_ record: RequestRecord) {
    display.note("\(record.identifier): the definition has changed; the request goes on with the new one")
    tell(record, again: true)
  }

  private func tell(_ record: RequestRecord, again: Bool = false) {
    if record.state == .succeeded { return display.note("\(record.identifier): has succeeded already") }
    guard again || record.launches > 0 else { return }
    let batches = totalBatches(of: record).map { " of \($0)" } ?? ""
    display.note(
      "\(record.identifier): going on at batch \(record.progress.batches)\(batches) (\(record.unitsText) done)")
  }

  /// How many batches the items make; `nil` if the work has no items or their number is unknown.
  private func totalBatches(of record: RequestRecord) -> Int64? {
    guard let work = definitions.first(where: { $0.pattern == record.pattern })?.work, work.items != nil,
      let total = record.totalUnits
    else { return nil }
    return (total + Int64(work.batchSize) - 1) / Int64(work.batchSize)
  }

  /// Writes the end of the output of failed launches, because after this command no coordinator is left to ask for it.
  private func tellOutput(_ records: [RequestRecord], _ api: any OperatorAPI) async throws {
    for record in records where record.state == .failed && record.launches > 0 && output?.hasShown(record.name) != true
    {
      let tail = OutputTail()
      let details = try await api.details(record.identifier, number: record.number)
      let shard = record.shards == nil ? nil : details.shardOfInterest
      let last = details.launches.last { shard == nil || $0.shard == shard }?.launch.number ?? record.launches
      let selection = LogSelection(shards: .one(shard ?? 0), launch: last)
      try await api.logs(record.identifier, number: record.number, selection) { tail.append($0.bytes) }
      let lines = tail.lines
      guard !lines.isEmpty else { continue }
      console.note("the last output of \(record.name):")
      for line in lines { console.note("  | \(line)") }
    }
  }
}

extension [Definition] {
  /// What 'baton run' does otherwise than a fleet, in one line; nil if it does nothing otherwise.
  fileprivate var ignoredByRun: String? {
    let idle = contains { $0.requirements.requiresIdle }
    let repeats = contains { $0.repeats }
    switch (idle, repeats) {
    case (true, true):
      return "'baton run' runs now, once, and does not wait for an idle host: it ignores 'requiresIdle' and 'repeat'"
    case (true, false): return "'baton run' does not wait for an idle host: it ignores 'requiresIdle'"
    case (false, true): return "'baton run' runs each job once: it ignores 'repeat'"
    case (false, false): return nil
    }
  }
}
