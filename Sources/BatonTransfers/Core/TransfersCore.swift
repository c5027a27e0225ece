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
  /// The bytes of the files that are kept for each request.
  private var kept: [RequestID: Int64]
  private var released: Set<RequestID> = []
  /// The requests whose removal goes on.
  private var removing: Set<RequestID> = []
  private var conditions: TransferConditions
  private var free: Int64
  private var isDraining = false
  /// The number of the last change of each transfer, and of the last change of all.
  private var changes: [TransferKey: UInt64] = [:]
  package private(set) var lastChange: UInt64 = 0

  /// - Parameters:
  ///   - records: what the journal has.
  ///   - kept: the bytes of the files that are kept for each request.
  ///   - free: the free room on the file system, in bytes.
  package init(
    _ limits: Limits, records: [TransferRecord] = [], kept: [RequestID: Int64] = [:],
    conditions: TransferConditions, free: Int64, boot: String, at now: Now
  ) {
    (self.limits, self.kept, self.conditions, self.free) = (limits, kept, conditions, free)
    for record in records {
      lives[record.key] = TransferLife(record, deadline: record.deadline(boot: boot, at: now))
      changed(record.key)
    }
  }

  // MARK: Orders

  /// Takes an order that is in the journal.
  package mutating func carryOut(_ record: TransferRecord, boot: String, at now: Now) -> [Effect] {
    guard lives[record.key] == nil else { return [] }
    lives[record.key] = TransferLife(record, deadline: record.deadline(boot: boot, at: now))
    changed(record.key)
    return tick(at: now, free: free)
  }

  package mutating func cancel(_ key: TransferKey, at now: Now) -> [Effect] {
    guard let life = lives[key] else { return [] }
    changed(key)
    switch life.phase {
    case .connecting, .flowing, .stopping:
      lives[key]?.stop(.cancelled)
      return [.stop(key)]
    case .waiting, .backingOff: return settle(key, .cancelled, at: now)
    case .settling, .ended: return []
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
    return keys.flatMap { cancel($0, at: now) } + tick(at: now, free: free)
  }

  package mutating func removed(_ request: RequestID, at now: Now) -> [Effect] {
    released.remove(request)
    removing.remove(request)
    kept[request] = nil
    return tick(at: now, free: free)
  }

  package func isReleased(_ request: RequestID) -> Bool { released.contains(request) }

  // MARK: Facts

  package mutating func conditionsChanged(_ conditions: TransferConditions, at now: Now) -> [Effect] {
    self.conditions = conditions
    return tick(at: now, free: free)
  }

  /// The process is about to end: nothing starts any more, and what runs stops where it is.
  package mutating func drain() -> [Effect] {
    isDraining = true
    return running.flatMap { stop($0, .drained) }
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
    guard lives[key] != nil else { return [] }
    lives[key]?.receives(reception, at: now.instant)
    changed(key)
    return hold(key)
  }

  package mutating func advanced(_ key: TransferKey, to offset: Int64, free: Int64, at now: Now) -> [Effect] {
    guard lives[key] != nil else { return [] }
    self.free = free
    lives[key]?.advanced(to: offset, at: now.instant)
    changed(key)
    return hold(key)
  }

  package mutating func attemptEnded(_ key: TransferKey, _ end: AttemptEnd, at now: Now) -> [Effect] {
    lives[key]?.attemptEnded(end, at: now)
    changed(key)
    return settling(key) + tick(at: now, free: free)
  }

  package mutating func settled(_ key: TransferKey, at now: Now) -> [Effect] {
    if case .settling(.done(let file))? = lives[key]?.phase, lives[key]?.transfer.to?.hasPrefix("/") == false {
      kept[key.request, default: 0] += file.bytes
    }
    lives[key]?.settled()
    changed(key)
    return tick(at: now, free: free)
  }

  // MARK: Time

  /// Starts what may start, and stops what may not go on.
  package mutating func tick(at now: Now, free: Int64) -> [Effect] {
    self.free = free
    return overdue(at: now) + forbidden() + starts(at: now) + removals()
  }

  /// When `tick` has to be called next, if nothing else happens.
  package func nextWake(at now: Now) -> Duration {
    var next = Duration.seconds(30)
    for life in lives.values where !life.hasEnded {
      next = min(next, life.deadline - now.instant)
      if case .backingOff(_, let until, _) = life.phase, until > now.instant { next = min(next, until - now.instant) }
      if let date = life.transfer.earliestBeginDate, date > now.date { next = min(next, date - now.date) }
    }
    return max(next, .milliseconds(1))
  }

  private var running: [TransferKey] { lives.values.filter(\.isRunning).map(\.key).sorted() }

  private mutating func overdue(at now: Now) -> [Effect] {
    lives.values.filter { !$0.hasEnded && $0.deadline <= now.instant }.map(\.key).sorted().flatMap { key in
      let failure = TransferFailure(
        .timedOut,
        "The transfer had not ended within its resourceTimeout. The last problem was: "
          + (lives[key]?.record.lastError ?? "none; it waited, or was slow") + ".")
      return lives[key]?.isRunning == true ? stop(key, .failed(failure)) : settle(key, .failed(failure), at: now)
    }
  }

  private mutating func forbidden() -> [Effect] {
    running.flatMap { key -> [Effect] in
      guard let life = lives[key], let wait = conditions.obstacle(to: life.transfer) else { return [] }
      return stop(key, .paused(wait))
    }
  }

  private mutating func starts(at now: Now) -> [Effect] {
    guard !isDraining else { return [] }
    var places = limits.atOnce - running.count
    var effects: [Effect] = []
    let order = lives.values.filter { !$0.isRunning && !$0.hasEnded }
      .sorted { ($0.record.orderedAt, $0.key) < ($1.record.orderedAt, $1.key) }
    for life in order {
      if case .settling = life.phase { continue }
      if case .backingOff(_, let until, _) = life.phase, until > now.instant { continue }
      if let wait = obstacle(to: life, places: places, at: now) {
        if case .waiting(wait) = life.phase { continue }
        lives[life.key]?.waits(for: wait)
        changed(life.key)
        continue
      }
      guard let plan = lives[life.key]?.start() else { continue }
      places -= 1
      changed(life.key)
      effects.append(.start(plan))
    }
    return effects
  }

  private func obstacle(to life: TransferLife, places: Int, at now: Now) -> TransferWait? {
    if let date = life.transfer.earliestBeginDate, date > now.date { return .earliestBeginDate }
    if let wait = conditions.obstacle(to: life.transfer) { return wait }
    if life.transfer.method == .get {
      if free < limits.minFree { return .room }
      if claimed - life.claim + max(life.record.total ?? life.transfer.size ?? 0, life.record.offset) > limits.quota,
        !exceedsQuota(life)
      {
        return .quota
      }
    }
    return places > 0 ? nil : .turn
  }

  // MARK: Room

  private var claimed: Int64 {
    lives.values.reduce(kept.values.reduce(0, +)) { $0 + ($1.transfer.method == .get ? $1.claim : 0) }
  }

  /// Whether a file can never fit, however long it waits.
  private func exceedsQuota(_ life: TransferLife) -> Bool {
    max(life.record.total ?? 0, life.record.offset) > limits.quota
  }

  /// Stops a download for which the host has no room.
  private mutating func hold(_ key: TransferKey) -> [Effect] {
    guard let life = lives[key], life.isRunning, life.transfer.method == .get else { return [] }
    if exceedsQuota(life) {
      let text =
        "The file has \(life.claim) bytes or more, but the transfers of this host may have \(limits.quota) bytes "
        + "together. Raise the quota of its transfers."
      return stop(key, .failed(TransferFailure(.tooLarge, text)))
    }
    if claimed > limits.quota { return stop(key, .paused(.quota)) }
    let rest = (life.record.total ?? life.record.offset) - life.record.offset
    return free - rest < limits.minFree ? stop(key, .paused(.room)) : []
  }

  // MARK: Ends

  private mutating func stop(_ key: TransferKey, _ stop: TransferLife.Stop) -> [Effect] {
    if case .stopping? = lives[key]?.phase { return [] }
    lives[key]?.stop(stop)
    changed(key)
    return [.stop(key)]
  }

  private mutating func settle(_ key: TransferKey, _ end: TransferEnd, at now: Now) -> [Effect] {
    if case .settling? = lives[key]?.phase { return [] }
    lives[key]?.settle(end, at: now)
    changed(key)
    return settling(key)
  }

  private func settling(_ key: TransferKey) -> [Effect] {
    guard let life = lives[key], case .settling = life.phase else { return [] }
    return [.settle(life.record)]
  }

  /// Removes the released requests of which nothing runs any more.
  private mutating func removals() -> [Effect] {
    released.sorted().compactMap { request in
      let keys = lives.keys.filter { $0.request == request }.sorted()
      guard keys.allSatisfy({ lives[$0]?.hasEnded == true }), !removing.contains(request) else { return nil }
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
