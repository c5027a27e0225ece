import BatonBase
package import BatonModel
import BatonSpec
package import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// The operators' calls. The gRPC service and the embedded commands use them.
extension Coordinator {
  // MARK: Requests

  package func request(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord {
    guard let record = try await store.request(identifier, number: number) else {
      throw OperatorError.notFound(notFound(identifier, number))
    }
    return try await withUpdates(record)
  }

  /// The request with this number. Without a number, the request that `choice` selects.
  func request(
    _ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice
  ) async throws -> RequestRecord {
    let current = try await request(identifier, number: number)
    guard number == nil, current.launches == 0, try await prefersRan(to: current, choice),
      let ran = try await store.lastLaunched(identifier)
    else { return current }
    return try await withUpdates(ran)
  }

  /// Whether a request that ran is meant, and not this one, which was never launched.
  private func prefersRan(to current: RequestRecord, _ choice: RequestChoice) async throws -> Bool {
    switch choice {
    case .current: false
    // What failed without a launch can be retried, and says why it failed.
    case .ran: current.state.isPending || current.state == .cancelled
    case .ranIfRepeating:
      current.state == .scheduled
        ? try await store.definition(current.definition)?.repeats ?? false : false
    }
  }

  private func notFound(_ identifier: JobIdentifier, _ number: Int?) -> String {
    let limits = Caller.current?.limits
    let (isDefined, nearest) = state.withLock { state in
      (
        state.core.index.definition(for: identifier) != nil,
        state.core.index.nearest(to: identifier.rawValue, within: limits)
      )
    }
    if let number { return "there is no request \(number) of '\(identifier)': look at 'baton list \(identifier)'" }
    if isDefined { return "'\(identifier)' is defined, but was never submitted: baton submit \(identifier)" }
    return "there is no job '\(identifier)'" + (nearest.map { ", did you mean '\($0)'?" } ?? ": look at 'baton list'")
  }

  package func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    let page = try await store.page(of: filter, after: after, limit: limit)
    return ListedRequests(records: try await withUpdates(page.records), next: page.next)
  }

  func withUpdates(_ record: RequestRecord) async throws -> RequestRecord { try await withUpdates([record])[0] }

  /// The records with every time on the wall clock, and with what their running launches have reported since their last
  /// checkpoints: to this coordinator, or to another one, which tells of it every second. Hosts that this coordinator
  /// has lost the connection to are told too.
  private func withUpdates(_ records: [RequestRecord]) async throws -> [RequestRecord] {
    let running = records.filter { $0.state == .running }
    let now = now()
    let (own, foreign, away) = state.withLock { state in
      (
        running.compactMap { state.core.updates[$0.lastLaunch] },
        store.isShared ? running.filter { !state.core.hears($0.lastLaunch) } : [],
        state.core.dispatcher.hostsAway(among: running.compactMap(\.host), at: now)
      )
    }
    let others = foreign.isEmpty ? [] : try await store.updates(of: foreign.map(\.id))
    let updates = Dictionary((own + others).map { ($0.launch, $0) }, uniquingKeysWith: { $1 })
    return records.map { record in
      var record = record.onWallClock(at: now.moment)
      if record.state == .running, record.shards == nil { record.hostAway = record.host.flatMap { away[$0] } }
      return updates[record.lastLaunch].map(record.updated) ?? record
    }
  }

  /// Calls `body` with the request now and after every change, until the request has ended or the coordinator shuts
  /// down.
  package func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: (RequestRecord) async throws -> Void
  ) async throws {
    let first = try await request(identifier, number: number)
    try await watchers.watching(first.id) { signal in
      var last: RequestRecord?
      while !watchers.isClosed {
        try Task.checkCancellation()
        guard let stored = try await store.request(first.id) else { return }
        let record = try await withUpdates(stored)
        if record != last { try await body(record) }
        if record.state.isEnded { return }
        last = record
        try await nextChange(signal)
      }
    }
  }

  /// Waits for the next change of a request that is watched. Of a request that runs at another coordinator nothing is
  /// heard but what that one stores, so while there are others this returns at least every second.
  func nextChange(_ signal: Signal) async throws {
    guard state.withLock({ $0.core.hasOthers }) else { return await signal.wait() }
    try await signal.wait(atMost: { [clocks] in try await clocks.sleep(.seconds(1)) })
  }

  package func cancel(_ selection: RequestSelection, by principal: String) async throws -> [Cancellation] {
    let cancellations = try await translating {
      try await self.store.cancel(
        selection, by: principal, histories: self.state.withLock { $0.core.dispatcher.waits }, at: self.now().moment)
    }
    decide { $0.core.cancelled(cancellations, by: principal) }
    return cancellations
  }

  package func retry(
    _ identifier: JobIdentifier, number: Int?, skipping: SkippedBatch, withNewDefinition: Bool
  ) async throws -> RequestRecord {
    let found = try await request(identifier, number: number, choosing: .ran)
    let definition = withNewDefinition ? try appliedDefinition(for: identifier) : nil
    let record = try await translating {
      try await self.store.retry(found.id, skipping: skipping, as: definition, at: self.now().moment)
    }
    decide { $0.core.becameReady(record) }
    return record
  }

  /// Sets how many shards of a request may be in work at once.
  package func setSpread(_ identifier: JobIdentifier, number: Int?, lanes: Int) async throws -> RequestRecord {
    let found = try await request(identifier, number: number)
    let answer = try await translating {
      try await self.store.setSpread(found.id, lanes: lanes, at: self.now().moment)
    }
    decide { $0.core.spreadChanged(answer) }
    return try await withUpdates(answer.record)
  }

  package func setPriority(
    _ identifier: JobIdentifier, number: Int?, _ priority: Priority
  ) async throws -> RequestRecord {
    let found = try await request(identifier, number: number)
    let record = try await translating { try await self.store.setPriority(found.id, priority) }
    if record.state == .ready { decide { $0.core.becameReady(record) } }
    return try await withUpdates(record)
  }

  package func setLimit(_ key: LimitKey, _ setting: LimitSetting?) async throws -> LimitRecord {
    if let problem = key.problem { throw OperatorError.invalid("the key \(problem)") }
    if let problem = setting?.problem { throw OperatorError.invalid(problem) }
    let now = now().moment
    let record = try await translating { try await self.store.setLimit(key, setting, at: now) }
    decide { $0.core.limitChanged() }
    return record.onWallClock(at: now)
  }

  package func limits(
    beginningWith beginning: String, after: LimitKey?, limit: Int
  ) async throws -> [LimitRecord] {
    let now = now().moment
    let found = try await translating {
      try await self.store.limits(beginningWith: beginning, after: after, limit: limit, at: now)
    }
    return found.map { $0.onWallClock(at: now) }
  }

  /// The shards of a request, in their order, after the one with this number.
  package func shards(
    _ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int
  ) async throws -> [ShardRecord] {
    let found = try await request(identifier, number: number, choosing: .ran)
    return try await translating { try await self.store.shards(of: found.id, after: after, limit: limit) }
  }

  package func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord {
    let found = try await request(identifier, number: number)
    let definition = try appliedDefinition(for: identifier)
    let record = try await translating {
      try await self.store.redefine(found.id, as: definition, at: self.now().moment)
    }
    decide { $0.core.redefined(record) }
    return try await withUpdates(record)
  }

  private func appliedDefinition(for identifier: JobIdentifier) throws -> DefinitionID {
    guard let stored = state.withLock({ $0.core.index.definition(for: identifier) }) else {
      throw OperatorError.conflict(
        "no definition of '\(identifier)' is applied: apply the repaired file (baton apply FILE)")
    }
    return stored.id
  }

  // MARK: The store

  package func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    logger.notice("a backup of the store begins", metadata: ["path": "\(path)"])
    do {
      let summary = try await translating(isOfStore: false) { try await self.store.backUp(to: path, report) }
      logger.notice(
        "a backup of the store is written", metadata: ["path": "\(path)", "bytes": "\(summary.bytes)"])
      return summary
    } catch {
      logger.notice("a backup of the store ended without a file", metadata: ["path": "\(path)", "why": "\(error)"])
      // The error concerns the disk of the backup; the store itself still works.
      if case OperatorError.refused(.unavailable(let why)) = error { throw OperatorError.conflict(why) }
      guard error is CancellationError, !Task.isCancelled else { throw error }
      throw OperatorError.refused(.unavailable("the coordinator shuts down, and no backup was written; try again"))
    }
  }

  // MARK: Hosts

  package func setDraining(_ host: HostName, _ isDraining: Bool) async throws {
    try requireKnown(host)
    try await say(.drain(host, isDraining))
  }

  /// - Throws: `.notFound`, with the names of the known hosts, if the host is not known.
  func requireKnown(_ host: HostName) throws {
    let known = state.withLock {
      $0.core.dispatcher.hosts[host] == nil ? $0.core.dispatcher.hosts.keys.map(\.rawValue) : nil
    }
    guard let known = known?.sorted() else { return }
    throw OperatorError.notFound("there is no host '\(host)'" + Self.hostAdvice(host, known))
  }

  private static let namedHosts = 10

  private static func hostAdvice(_ host: HostName, _ known: [String]) -> String {
    if known.isEmpty { return ": no worker has connected yet" }
    if let nearest = Values.nearest(to: host.rawValue, among: known) { return ", did you mean '\(nearest)'?" }
    let more = known.count - namedHosts
    return "; known: " + known.prefix(namedHosts).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  /// - Throws: `.notFound` if the pattern neither covers a definition nor is covered by one. The message names the
  ///   pattern with the most similar spelling.
  private func requireKnown(_ pattern: IdentifierPattern) throws {
    let limits = Caller.current?.limits
    let (isKnown, nearest) = state.withLock {
      ($0.core.index.knows(pattern), $0.core.index.nearest(to: pattern.rawValue, within: limits))
    }
    guard !isKnown else { return }
    throw OperatorError.notFound(
      "there is no job '\(pattern)'" + (nearest.map { ", did you mean '\($0)'?" } ?? ": look at 'baton list'"))
  }

  /// Evicts the pattern from hosts, or ends the eviction. If no host is named, an eviction concerns the hosts where
  /// the pattern runs now, and the end of an eviction all hosts that it is evicted from.
  /// - Returns: the hosts concerned.
  /// - Throws: `.notFound` if a host is not known or, for an eviction, if the job is not known; `.conflict` if there
  ///   is no host to change, or a named host has no such eviction. Nothing is changed then.
  package func setEvicted(
    _ pattern: IdentifierPattern, from named: [HostName], _ isEvicted: Bool
  ) async throws -> [HostName] {
    // The end of an eviction needs no definition: the definition may have been removed since the eviction.
    if isEvicted { try requireKnown(pattern) }
    for host in named { try requireKnown(host) }
    let hosts =
      named.isEmpty
      ? state.withLock { $0.core.dispatcher.hosts(with: pattern, isEvicted: !isEvicted) } : Array(Set(named)).sorted()
    guard !hosts.isEmpty else {
      throw OperatorError.conflict(
        isEvicted
          ? "'\(pattern)' runs nowhere now: name the host that it shall not run on with --host"
          : "'\(pattern)' is evicted from no host")
    }
    if !isEvicted { for host in hosts { try requireEviction(of: pattern, from: host) } }
    for host in hosts { try await say(.evict(pattern, from: host, isEvicted)) }
    return hosts
  }

  /// Throws if there is no such eviction: ending it would report a success that changes nothing.
  private func requireEviction(of pattern: IdentifierPattern, from host: HostName) throws {
    let evictions = state.withLock { $0.core.dispatcher.hosts[host]?.host.evictions ?? [] }
    guard !evictions.contains(pattern) else { return }
    let known = evictions.filter { Caller.current?.covers($0) ?? true }
    let others = known.sorted().map(\.rawValue).joined(separator: ", ")
    throw OperatorError.conflict(
      "'\(pattern)' is not evicted from \(host)" + (others.isEmpty ? "" : "; what is: \(others)"))
  }

  package func setPaused(_ isPaused: Bool) async throws {
    try await say(.pause(isPaused))
  }

  /// Stores one word and then tells the core. `words` lets one word in at a time, so that the store and the dispatcher
  /// get all words in the same order.
  private func say(_ word: CoordinatorCore.Word) async throws {
    try await words.inTurn {
      try await self.translating {
        switch word {
        case .pause(let isPaused): try await self.store.setPaused(isPaused)
        case .drain(let host, let isDraining):
          try await self.store.setDraining(host, isDraining, at: self.now().moment)
        case .evict(let pattern, let host, let isEvicted):
          try await self.store.setEvicted(pattern, from: host, isEvicted)
        }
      }
      self.decide { $0.core.said(word) }
      self.watchers.changed(.overview)
    }
  }

  package func coordinators() async throws -> [CoordinatorReport] {
    let records = try await translating {
      try await self.store.coordinators(endedSince: self.now().steady + (.zero - Self.endedShown))
    }
    let fleet = snapshotWithoutHosts()
    return records.map { record in
      CoordinatorReport(
        number: record.epoch, place: record.place, hosts: record.hosts, isSteward: record.isSteward && !record.isEnded,
        answers: record.epoch == fleet.epoch,
        beatAge: record.isEnded ? nil : fleet.standing.beatAge(of: record.epoch, at: fleet.now.instant),
        isEnded: record.isEnded, endedFor: record.endedAt.map { max(.zero, fleet.now.steady - $0) },
        namespaces: record.namespaces)
    }
  }

  /// How long a coordinator that has ended is listed.
  private static let endedShown = Duration.seconds(3600)

  /// Every known host with the time at which it was last heard of. The ages of conditions are as of now; they are
  /// unknown for a host that was last heard of before a restart.
  package func hosts() -> [(state: HostState, lastSeenAt: Timestamp?)] {
    let fleet = snapshot()
    return fleet.hostNames.compactMap { name in fleet.host(name).map { ($0, fleet.lastSeenAt(name)) } }
  }

  /// The warning that the submission's earliest begin date is ignored; nil if it is not ignored.
  func ignoredDate(of submission: Submission) -> String? {
    // 'baton start' asks for now, which is when such a job starts anyway.
    guard let date = submission.earliestBeginDate, date != .afterSubmission(.zero) else { return nil }
    let kind = state.withLock { $0.core.index.definition(for: submission.identifier)?.definition.kind }
    guard kind == .continued else { return nil }
    return "its earliest begin date is ignored: a job of kind 'continued' starts as soon as a host can take it; "
      + "to start it later, submit it later or declare another kind"
  }

  /// Both warnings in one text; nil if there is no warning.
  func warning(_ first: String?, _ second: String?) -> String? {
    let all = [first, second].compactMap { $0 }
    return all.isEmpty ? nil : all.joined(separator: "; ")
  }

  /// Runs `body` and translates the store's errors to `OperatorError`.
  /// - Parameter isOfStore: whether a disk that cannot be written is that of the store.
  func translating<Result: Sendable>(
    isOfStore: Bool = true, _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch let error as StoreError {
      let isUnwritable = error.code == .cannotWrite && isOfStore
      if error.endsCoordinator || isUnwritable { note(error, while: "storing what an operator asked for") }
      switch error.code {
      case .notFound: throw OperatorError.notFound(error.message)
      case .refused: throw OperatorError.conflict(error.message)
      case .overloaded: throw OperatorError.overloaded(error.message)
      case .cannotWrite: throw OperatorError.refused(.unavailable(error.message))
      case .unknown: throw OperatorError.unknown(error.message)
      case .superseded, .wentBackwards, .newerVersion, .moved, .unavailable, .relocated:
        throw OperatorError.refused(.unavailable(error.message))
      case .locked, .corrupt: throw error
      }
    }
  }
}

extension RequestRecord {
  fileprivate var lastLaunch: LaunchKey { LaunchKey(request: id, number: launches) }

  /// The record with what its running launch has reported since its last checkpoint. Units never go back behind the
  /// checkpoint: an update of another coordinator may be older than it.
  fileprivate func updated(_ update: LaunchUpdate) -> RequestRecord {
    guard state == .running else { return self }
    var record = self
    record.title = update.title ?? title
    record.subtitle = update.subtitle ?? subtitle
    let completed = update.completedUnits ?? progress.completedUnits
    guard completed >= progress.completedUnits else { return record }
    record.progress.completedUnits = completed
    record.progress.totalUnits = update.totalUnits ?? progress.totalUnits
    return record
  }
}
