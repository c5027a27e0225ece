package import BatonModel

/// Decides what the transfers of a host do. `TransferEngine` performs the effects.
package struct TransfersCore: Sendable {
  package enum Effect: Hashable, Sendable {
    /// Begin an attempt.
    case start(AttemptPlan)
    /// Stop the running attempt. Its end has to be told.
    case stop(TransferKey)
    /// Write the end to the journal, then remove the partial file, then say `settled`.
    case settle(TransferRecord)
    /// Remove the files, partial files and records of a request, then say `removed`.
    case remove(RequestID, [TransferKey])
  }

  package struct Limits: Hashable, Sendable {
    package var atOnce: Int
    package var quota: Int64
    package var minFree: Int64

    package init(atOnce: Int, quota: Int64, minFree: Int64) {
      (self.atOnce, self.quota, self.minFree) = (atOnce, quota, minFree)
    }
  }

  package let limits: Limits
  package private(set) var lives: [TransferKey: TransferLife] = [:]
  private var queue = TransferQueue()
  private var running: Set<TransferKey> = []
  /// Those of `running` that still need their server.
  private var connected: Set<TransferKey> = []
  /// The bytes of the files that are kept for each request.
  private var kept: [RequestID: Int64]
  /// The bytes of the quota that are used: by files that are kept, and by downloads that have begun.
  private var claimed: Int64
  private var released: Set<RequestID> = []
  /// The requests whose removal goes on.
  private var removing: Set<RequestID> = []
  private var conditions: TransferConditions
  private var free: Int64
  private var isDraining = false
  /// When `tick` has to be called next, if nothing else happens.
  package private(set) var wakesAt: Instant
  /// The number of the last change of each transfer, and of the last change of all.
  private var changes: [TransferKey: UInt64] = [:]
  package private(set) var lastChange: UInt64 = 0

  /// The longest time between two calls of `tick`. Room on the disk may appear without a word.
  package static let longestWait = Duration.seconds(30)

  /// - Parameters:
  ///   - records: what the journal has.
  ///   - kept: the bytes of the files that are kept for each request.
  ///   - free: the free room on the file system, in bytes.
  package init(
    _ limits: Limits, records: [TransferRecord] = [], kept: [RequestID: Int64] = [:],
    conditions: TransferConditions, free: Int64, boot: String, at now: Now
  ) {
    (self.limits, self.kept, self.conditions, self.free) = (limits, kept, conditions, free)
    (claimed, wakesAt) = (kept.values.reduce(0, +), now.instant)
    for record in records { add(record, boot: boot, at: now) }
  }

  private mutating func add(_ record: TransferRecord, boot: String, at now: Now) {
    let life = TransferLife(record, deadline: record.deadline(boot: boot, at: now))
    lives[record.key] = life
    claimed += life.claim
    if !life.hasEnded { queue.add(record) }
    changed(record.key)
  }

  /// Changes a life, and everything that follows from it.
  private mutating func update(_ key: TransferKey, at now: Now, _ body: (inout TransferLife) -> Void) {
    guard var life = lives[key] else { return }
    claimed -= life.claim
    body(&life)
    claimed += life.claim
    lives[key] = life
    if life.isRunning { running.insert(key) } else { running.remove(key) }
    if life.isRunning, !life.hasArrived { connected.insert(key) } else { connected.remove(key) }
    if let time = life.nextTime(at: now) { wakesAt = min(wakesAt, time) }
    changed(key)
  }

  // MARK: Orders

  /// Takes an order that is in the journal.
  package mutating func carryOut(_ record: TransferRecord, boot: String, at now: Now) -> [Effect] {
    guard lives[record.key] == nil else { return [] }
    add(record, boot: boot, at: now)
    update(record.key, at: now) { _ in }
    return consider(record.key, at: now)
  }

  package mutating func cancel(_ key: TransferKey, at now: Now) -> [Effect] {
    guard let life = lives[key] else { return [] }
    switch life.phase {
    case .connecting, .flowing, .finishing, .stopping:
      update(key, at: now) { $0.stop(.cancelled) }
      return [.stop(key)]
    case .waiting, .backingOff: return settle(key, .cancelled, at: now)
    case .settling, .ended: return []
    }
  }

  /// Does as if this had happened to the transfer. An interruption changes nothing unless an attempt runs.
  package mutating func simulate(_ what: TransferSimulation, of key: TransferKey, at now: Now) -> [Effect] {
    guard let life = lives[key], !life.isSettled else { return [] }
    switch what {
    case .failure:
      let failure = TransferFailure(.simulated, "An operator simulated this failure (baton simulate transfer --fail).")
      return life.isRunning ? stop(key, .failed(failure), at: now) : settle(key, .failed(failure), at: now)
    case .interruption: return life.isRunning ? stop(key, .interrupted, at: now) : []
    }
  }

  /// - Returns: whether the transfer is forgotten; one that has not ended is not.
  package mutating func forget(_ key: TransferKey) -> Bool {
    guard let life = lives[key] else { return true }
    guard life.hasEnded else { return false }
    (lives[key], changes[key]) = (nil, nil)
    return true
  }

  package mutating func release(_ request: RequestID, at now: Now) -> [Effect] {
    released.insert(request)
    let keys = lives.keys.filter { $0.request == request }.sorted()
    return keys.flatMap { cancel($0, at: now) } + removals()
  }

  package mutating func removed(_ request: RequestID, at now: Now) -> [Effect] {
    released.remove(request)
    removing.remove(request)
    claimed -= kept.removeValue(forKey: request) ?? 0
    return starts(at: now)
  }

  package func isReleased(_ request: RequestID) -> Bool { released.contains(request) }

  // MARK: Facts

  package mutating func conditionsChanged(_ conditions: TransferConditions, at now: Now) -> [Effect] {
    self.conditions = conditions
    return tick(at: now, free: free)
  }

  /// The process is about to end: nothing starts any more, and what runs stops where it is.
  package mutating func drain(at now: Now) -> [Effect] {
    isDraining = true
    return running.sorted().flatMap { stop($0, .drained, at: now) }
  }

  package var isQuiet: Bool {
    lives.values.allSatisfy { life in
      if case .settling = life.phase { return false }
      return !life.isRunning
    }
  }

  package mutating func answered(_ key: TransferKey, _ status: Int) { lives[key]?.answered(status) }

  /// The bytes of a file begin to arrive.
  package mutating func receives(_ key: TransferKey, _ reception: Reception, at now: Now) -> [Effect] {
    update(key, at: now) { $0.receives(reception, at: now.instant) }
    return hold(key, at: now)
  }

  package mutating func flowed(_ key: TransferKey, to offset: Int64, at now: Now) -> [Effect] {
    update(key, at: now) { $0.flowed(to: offset, at: now.instant) }
    return []
  }

  /// All bytes of the file have arrived.
  package mutating func arrived(_ key: TransferKey, at now: Now) -> [Effect] {
    update(key, at: now) { $0.arrived() }
    return starts(at: now)
  }

  package mutating func advanced(_ key: TransferKey, to offset: Int64, free: Int64, at now: Now) -> [Effect] {
    self.free = free
    update(key, at: now) { $0.advanced(to: offset, at: now.instant) }
    return hold(key, at: now)
  }

  /// What went wrong in the attempt that is about to end.
  package mutating func hadProblem(_ key: TransferKey, _ text: String) { lives[key]?.hadProblem(text) }

  package mutating func attemptEnded(_ key: TransferKey, _ end: AttemptEnd, at now: Now) -> [Effect] {
    update(key, at: now) { $0.attemptEnded(end, at: now) }
    return settling(key) + starts(at: now)
  }

  package mutating func settled(_ key: TransferKey, at now: Now) -> [Effect] {
    guard let life = lives[key] else { return [] }
    if case .settling(.done(let file)) = life.phase, life.transfer.to?.hasPrefix("/") == false {
      kept[key.request, default: 0] += file.bytes
      claimed += file.bytes
    }
    update(key, at: now) { $0.settled() }
    return removals() + starts(at: now)
  }

  // MARK: Time

  /// Starts what may start, and stops what may not go on.
  package mutating func tick(at now: Now, free: Int64) -> [Effect] {
    self.free = free
    let effects = overdue(at: now) + forbidden(at: now) + starts(everyone: true, at: now) + removals()
    wakesAt = now.instant + Self.longestWait
    guard !isDraining else { return effects }
    for life in lives.values { if let time = life.nextTime(at: now) { wakesAt = min(wakesAt, time) } }
    return effects
  }

  private mutating func overdue(at now: Now) -> [Effect] {
    lives.values.filter { !$0.isSettled && $0.deadline <= now.instant }.map(\.key).sorted().flatMap { key in
      let failure = TransferFailure(
        .timedOut,
        "The transfer had not ended within its resourceTimeout. The last problem was: "
          + (lives[key]?.record.lastError ?? "none; it waited, or was slow") + ".")
      return running.contains(key) ? stop(key, .failed(failure), at: now) : settle(key, .failed(failure), at: now)
    }
  }

  private mutating func forbidden(at now: Now) -> [Effect] {
    running.sorted().flatMap { key -> [Effect] in
      guard let life = lives[key], let wait = conditions.obstacle(to: life.transfer) else { return [] }
      return stop(key, .paused(wait), at: now)
    }
  }

  /// Starts transfers in the order of their orders.
  /// - Parameter everyone: whether those for which there is no place are looked at too, so that each says what it waits
  ///   for.
  private mutating func starts(everyone: Bool = false, at now: Now) -> [Effect] {
    guard !isDraining else { return [] }
    queue.dropFirst { lives[$0]?.isSettled ?? true }
    var effects: [Effect] = []
    for index in queue.indices {
      if !everyone, !hasPlace { break }
      effects += consider(queue[index], at: now)
    }
    return effects
  }

  /// Starts a transfer that waits, or notes what it waits for.
  private mutating func consider(_ key: TransferKey, at now: Now) -> [Effect] {
    guard !isDraining, let life = lives[key], !life.isRunning, !life.isSettled else { return [] }
    if case .backingOff(_, let until, _) = life.phase, until > now.instant { return [] }
    if life.transfer.method == .get, life.need > limits.quota { return settle(key, .failed(tooLarge(life)), at: now) }
    if let wait = obstacle(to: life, at: now) {
      if life.phase != .waiting(wait) { update(key, at: now) { $0.waits(for: wait) } }
      return []
    }
    var effects: [Effect] = []
    update(key, at: now) { effects = [.start($0.start())] }
    return effects
  }

  private func obstacle(to life: TransferLife, at now: Now) -> TransferWait? {
    if let date = life.transfer.earliestBeginDate, date > now.date { return .earliestBeginDate }
    if let wait = conditions.obstacle(to: life.transfer) { return wait }
    if life.transfer.method == .get {
      if free < limits.minFree { return .room }
      if claimed - life.claim + life.need > limits.quota { return .quota }
    }
    return hasPlace ? nil : .turn
  }

  /// Whether one more may begin. A transfer whose bytes have all arrived leaves its place to the next one while the
  /// disk works; at most as many wait for the disk as there are places.
  private var hasPlace: Bool { connected.count < limits.atOnce && running.count < 2 * limits.atOnce }

  // MARK: Room

  /// Whether no further file fits on the host.
  package var isOutOfRoom: Bool { free < limits.minFree || claimed >= limits.quota }

  private func tooLarge(_ life: TransferLife) -> TransferFailure {
    TransferFailure(
      .tooLarge,
      "The file has \(life.need) bytes or more, but the transfers of this host may have \(limits.quota) bytes "
        + "together. Raise the quota of its transfers.")
  }

  /// Stops a download for which the host has no room.
  private mutating func hold(_ key: TransferKey, at now: Now) -> [Effect] {
    guard let life = lives[key], life.isRunning, life.transfer.method == .get else { return [] }
    if life.need > limits.quota { return stop(key, .failed(tooLarge(life)), at: now) }
    if claimed > limits.quota { return stop(key, .paused(.quota), at: now) }
    let rest = (life.record.total ?? life.record.offset) - life.record.offset
    return free - rest < limits.minFree ? stop(key, .paused(.room), at: now) : []
  }

  // MARK: Ends

  private mutating func stop(_ key: TransferKey, _ stop: TransferLife.Stop, at now: Now) -> [Effect] {
    if case .stopping? = lives[key]?.phase { return [] }
    update(key, at: now) { $0.stop(stop) }
    return [.stop(key)]
  }

  private mutating func settle(_ key: TransferKey, _ end: TransferEnd, at now: Now) -> [Effect] {
    update(key, at: now) { $0.settle(end, at: now) }
    return settling(key)
  }

  private func settling(_ key: TransferKey) -> [Effect] {
    guard let life = lives[key], case .settling = life.phase else { return [] }
    return [.settle(life.record)]
  }

  /// Removes the released requests of which nothing runs any more.
  private mutating func removals() -> [Effect] {
    released.subtracting(removing).sorted().compactMap { request in
      let keys = lives.keys.filter { $0.request == request }.sorted()
      guard keys.allSatisfy({ lives[$0]?.hasEnded == true }) else { return nil }
      removing.insert(request)
      for key in keys { (lives[key], changes[key]) = (nil, nil) }
      return .remove(request, keys)
    }
  }

  // MARK: What is told

  private mutating func changed(_ key: TransferKey) {
    lastChange += 1
    changes[key] = lastChange
  }

  /// The transfers that have changed after the change `number`, in the order of their last changes.
  package func changes(since number: UInt64, atMost most: Int) -> [(number: UInt64, status: TransferStatus)] {
    changes.filter { $0.value > number }.sorted { $0.value < $1.value }.prefix(most).compactMap { key, number in
      lives[key].map { (number, $0.status) }
    }
  }

  /// Transfers in the order of their keys.
  package func statuses(after key: TransferKey?, atMost most: Int) -> [TransferStatus] {
    lives.keys.filter { one in key.map { $0 < one } ?? true }.sorted().prefix(most).compactMap { lives[$0]?.status }
  }
}
