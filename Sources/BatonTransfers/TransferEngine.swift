package import BatonBase
internal import BatonModel
internal import BatonProcess
package import Logging
internal import Synchronization

/// Carries out the transfers of a host: it performs the effects of `TransfersCore`.
package final class TransferEngine: Sendable {
  struct State {
    var core: TransfersCore
    /// Stops the attempts that run.
    var stops: [TransferKey: Signal] = [:]
    /// How many bytes of each partial file the journal names.
    var journaled: [TransferKey: Int64]
    /// The ones who wait for a change.
    var waiters: [UInt64: Signal] = [:]
    var isDraining = false
  }

  /// The folder of the transfers.
  package var folder: String { journal.folder }

  /// Names this run of the process. Changes of another run have other numbers.
  package let run = RandomNumbers.name()
  let settings: TransferSettings
  let journal: TransferJournal
  let clocks: Clocks
  let logger: Logger
  let rules: TransferRules
  let client: WebClient
  let rate: RateLimit
  let state: Mutex<State>
  /// Raised when the time of the next wake may have changed.
  let wake = Signal()
  /// Orders are taken one at a time.
  let ordering = Mutex(())
  /// It has at most a few effects for each transfer, whose number has a limit.
  let effects: AsyncStream<TransfersCore.Effect>
  let effect: AsyncStream<TransfersCore.Effect>.Continuation

  /// Opens the folder of the transfers and reads what the last process left. Waits for the disk.
  /// - Parameters:
  ///   - conditions: those that count until `conditionsChanged`.
  ///   - environment: has the variables that header fields may name.
  /// - Throws: `SystemError` if the folder cannot be used, or an error of NIOSSL if the certificates cannot.
  package init(
    _ settings: TransferSettings, conditions: TransferConditions, environment: [String: String] = [:],
    clocks: Clocks = .system, logger: Logger
  ) throws {
    (self.settings, self.clocks, self.logger) = (settings, clocks, logger)
    journal = try TransferJournal(folder: settings.folder)
    client = try WebClient(certificates: settings.trustedCertificates, atOnce: settings.atOnce)
    rules = TransferRules(settings: settings, environment: environment)
    rate = RateLimit(settings.maxRate, clocks: clocks)
    (effects, effect) = AsyncStream.makeStream()
    let restored = try journal.restore()
    for problem in restored.problems { logger.error("\(problem)") }
    let limits = TransfersCore.Limits(atOnce: settings.atOnce, quota: settings.quota, minFree: settings.minFree)
    let core = TransfersCore(
      limits, records: restored.records, kept: restored.kept, conditions: conditions,
      free: freeRoom(at: settings.folder), boot: clocks.boot(), at: clocks.now())
    let offsets = restored.records.map { ($0.key, $0.offset) }
    state = Mutex(State(core: core, journaled: Dictionary(uniqueKeysWithValues: offsets)))
    decide { core, now in
      restored.cancelled.flatMap { core.cancel($0, at: now) } + restored.released.flatMap { core.release($0, at: now) }
    }
  }

  // MARK: Deciding

  func decide(_ body: (inout TransfersCore, Now) -> [TransfersCore.Effect]) {
    let now = clocks.now()
    let isEarlier = state.withLock { state in
      let (before, hadNoRoom, wakesAt) = (state.core.lastChange, state.core.isOutOfRoom, state.core.wakesAt)
      for one in body(&state.core, now) { effect.yield(one) }
      if state.core.lastChange != before || state.core.isOutOfRoom != hadNoRoom {
        for waiter in state.waiters.values { waiter.raise() }
      }
      if state.isDraining, state.core.isQuiet { effect.finish() }
      return state.core.wakesAt < wakesAt
    }
    if isEarlier { wake.raise() }
  }

  /// The host's conditions have changed. Transfers that the new ones forbid pause.
  package func conditionsChanged(_ conditions: TransferConditions) {
    decide { core, now in core.conditionsChanged(conditions, at: now) }
  }

  /// Stops every transfer where it is. `perform` then returns when everything is on the disk.
  package func drain() {
    state.withLock { $0.isDraining = true }
    decide { core, now in core.drain(at: now) }
  }

  // MARK: Acting

  /// Carries out transfers until `drain` was called and everything has stopped, or the task is cancelled.
  package func perform() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.keepTime() }
      for await effect in effects { perform(effect, in: &group) }
      group.cancelAll()
    }
    await client.shutDown()
  }

  private func keepTime() async {
    while !Task.isCancelled {
      decide { [free = freeRoom(at: settings.folder)] core, now in core.tick(at: now, free: free) }
      let time = state.withLock { $0.core.wakesAt }
      let length = max(time - clocks.instant(), .milliseconds(1))
      try? await wake.wait { [clocks] in try await clocks.sleep(length) }
    }
  }

  private func perform(_ effect: TransfersCore.Effect, in group: inout DiscardingTaskGroup) {
    switch effect {
    case .start(let plan):
      let stop = Signal()
      state.withLock { $0.stops[plan.key] = stop }
      group.addTask { await self.attempt(plan, until: stop) }
    case .stop(let key): state.withLock { $0.stops[key] }?.raise()
    case .settle(let record):
      group.addTask {
        await self.untilDone {
          try self.journal.write(record)
          try self.journal.removePart(of: record.assignment)
        }
        self.decide { core, now in core.settled(record.key, at: now) }
      }
    case .remove(let request, let keys):
      group.addTask {
        await self.untilDone { try self.journal.remove(request, keys) }
        self.state.withLock { state in for key in keys { state.journaled[key] = nil } }
        self.decide { core, now in core.removed(request, at: now) }
      }
    }
  }

  /// Repeats `body` each second until the disk takes it, or the task is cancelled. What it writes has to be written
  /// some time, and the next process would do it otherwise.
  private func untilDone(_ body: @escaping @Sendable () throws -> Void) async {
    while !Task.isCancelled {
      do {
        return try await onOwnThread(body)
      } catch {
        logger.error("the end of a transfer cannot be written, and is tried again: \(error)")
        try? await clocks.sleep(.seconds(1))
      }
    }
  }

  private func attempt(_ plan: AttemptPlan, until stop: Signal) async {
    let flow = Flow()
    let attempt = TransferAttempt(
      plan: plan, journal: journal, client: client, rules: rules, clocks: clocks, rate: rate,
      reports: reports(of: plan, flow))
    let looking = Task { await self.look(at: flow, plan.key) }
    let end = await attempt.run(until: stop)
    looking.cancel()
    logger.debug("an attempt ended", metadata: ["transfer": "\(plan.key)", "from": "\(plan.offset)", "end": "\(end)"])
    if let problem = end.problem {
      // The next process tells it too. It is written while the attempt counts as running, so no later record is older.
      state.withLock { $0.core.hadProblem(plan.key, problem) }
      try? await write(plan.key)
    }
    state.withLock { $0.stops[plan.key] = nil }
    decide { core, now in core.attemptEnded(plan.key, end, at: now) }
  }

  /// How far an attempt has come, which it says for each buffer.
  private final class Flow: Sendable { let offset = Atomic<Int64>(0) }

  /// How often it is looked how far an attempt has come, so that people see it.
  private static let flowInterval = Duration.milliseconds(250)

  private func look(at flow: Flow, _ key: TransferKey) async {
    var last: Int64 = 0
    while (try? await Task.sleep(for: Self.flowInterval, clock: .continuous)) != nil {
      let offset = flow.offset.load(ordering: .relaxed)
      guard offset > last else { continue }
      last = offset
      decide { core, now in core.flowed(key, to: offset, at: now) }
    }
  }

  private func reports(of plan: AttemptPlan, _ flow: Flow) -> AttemptReports {
    AttemptReports(
      answered: { status in self.state.withLock { $0.core.answered(plan.key, status) } },
      receives: { try await self.receives(plan.key, $0) },
      flowed: { flow.offset.store($0, ordering: .relaxed) },
      advanced: { offset in
        self.synced(plan.key, offset)
        try await self.write(plan.key)
      },
      arrived: { self.decide { core, now in core.arrived(plan.key, at: now) } },
      synced: { self.synced(plan.key, $0) })
  }

  private func receives(_ key: TransferKey, _ reception: Reception) async throws {
    guard state.withLock({ $0.core.lives[key]?.phase }) == .connecting else { throw CancellationError() }
    decide { core, now in core.receives(key, reception, at: now) }
    // The journal must not name bytes that are about to be cut off: after a crash the new ones would be taken for them.
    if state.withLock({ $0.journaled[key] ?? 0 }) > reception.from { try await write(key) }
  }

  private func synced(_ key: TransferKey, _ offset: Int64) {
    decide { [free = freeRoom(at: settings.folder)] core, now in core.advanced(key, to: offset, free: free, at: now) }
  }

  /// Writes the record of a download that goes on.
  private func write(_ key: TransferKey) async throws {
    guard let record = state.withLock({ $0.core.lives[key]?.record }), record.assignment.transfer.method == .get,
      record.end == nil
    else { return }
    try await onOwnThread { try self.journal.write(record) }
    state.withLock { $0.journaled[key] = record.offset }
  }
}
