package import BatonModel

/// The life of one transfer on its host.
package struct TransferLife: Hashable, Sendable {
  package enum Phase: Hashable, Sendable {
    /// Nothing has been tried yet, or a condition paused the transfer.
    case waiting(TransferWait)
    /// The last attempt brought no end. The next one may begin at this time.
    case backingOff(TransferWait, until: Instant, date: Timestamp)
    /// An attempt runs, and no server has answered yet.
    case connecting
    /// Bytes flow.
    case flowing
    /// All bytes have arrived. They are being synced, checked and named.
    case finishing
    /// The attempt has been asked to stop, and has not stopped yet.
    case stopping(Stop)
    /// The end is decided, and is being written to the journal.
    case settling(TransferEnd)
    /// The end is in the journal.
    case ended(TransferEnd)
  }

  package enum Stop: Hashable, Sendable {
    case paused(TransferWait)
    case failed(TransferFailure)
    case cancelled
    /// As if the connection was lost.
    case interrupted
    /// The process ends, and the next one goes on.
    case drained
  }

  package private(set) var record: TransferRecord
  package private(set) var phase: Phase
  package let deadline: Instant
  /// The number of attempts in a row that brought nothing.
  private var failures = 0
  private var offsetAtStart: Int64 = 0
  private var sample: (bytes: Int64, at: Instant)?
  private var rate: Int64?
  /// How far the attempt that runs has come; what it received may not be synced yet. `nil` while nothing flows.
  private var live: Int64?

  package init(_ record: TransferRecord, deadline: Instant) {
    (self.record, self.deadline) = (record, deadline)
    phase = record.end.map { .ended($0) } ?? .waiting(.turn)
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.record == right.record && left.phase == right.phase && left.deadline == right.deadline
      && left.failures == right.failures
  }
  package func hash(into hasher: inout Hasher) { hasher.combine(record.key) }

  package var key: TransferKey { record.key }
  package var transfer: Transfer { record.assignment.transfer }

  /// Whether an attempt runs.
  package var isRunning: Bool {
    switch phase {
    case .connecting, .flowing, .finishing, .stopping: true
    case .waiting, .backingOff, .settling, .ended: false
    }
  }

  /// Whether an attempt runs that needs its server no more.
  package var hasArrived: Bool { phase == .finishing }

  package var hasEnded: Bool {
    if case .ended = phase { true } else { false }
  }

  /// Whether the end is decided.
  package var isSettled: Bool {
    switch phase {
    case .settling, .ended: true
    case .waiting, .backingOff, .connecting, .flowing, .finishing, .stopping: false
    }
  }

  /// When something is to be done about the transfer if nothing happens before; `nil` if there is no such time.
  func nextTime(at now: Now) -> Instant? {
    switch phase {
    case .settling, .ended, .stopping: nil
    case .backingOff(_, let until, _): min(until, deadline)
    case .waiting(.earliestBeginDate):
      min(transfer.earliestBeginDate.map { now.instant + ($0 - now.date) } ?? deadline, deadline)
    case .waiting, .connecting, .flowing, .finishing: deadline
    }
  }

  /// How many bytes the file has at least, as far as that is known.
  var need: Int64 { max(record.offset, record.total ?? transfer.size ?? 0) }

  /// How many bytes of the host's quota the transfer holds: what is there, or what the whole file will have. A transfer
  /// that has begun keeps its claim while it waits, so that two of them never wait for each other's room.
  package var claim: Int64 {
    guard transfer.method == .get else { return 0 }
    return switch phase {
    case .ended: 0
    case .connecting, .flowing, .finishing, .stopping: need
    // The bytes are there until the end is in the journal.
    case .waiting, .backingOff, .settling: record.offset > 0 ? need : 0
    }
  }

  // MARK: Attempts

  /// Begins an attempt.
  package mutating func start() -> AttemptPlan {
    precondition(!isRunning, "a transfer starts in \(phase)")
    phase = .connecting
    record.attempts += 1
    let offset = record.canResume ? record.offset : 0
    (offsetAtStart, record.resumedFrom) = (offset, offset)
    return AttemptPlan(
      key: key, assignment: record.assignment, offset: offset, validator: record.validator, total: record.total)
  }

  /// A server has answered.
  package mutating func answered(_ status: Int) { record.httpStatus = status }

  /// Bytes of the file begin to arrive.
  package mutating func receives(_ reception: Reception, at now: Instant) {
    guard case .connecting = phase else { return }
    phase = .flowing
    if reception.from == 0 || reception.from != record.offset {
      offsetAtStart = reception.from
      record.resumedFrom = reception.from
    }
    (record.offset, record.total, record.validator) = (reception.from, reception.total, reception.validator)
    (sample, rate, live) = ((reception.from, now), nil, reception.from)
  }

  /// The bytes before `offset` have come, or were sent. They may not be synced.
  package mutating func flowed(to offset: Int64, at now: Instant) {
    guard case .flowing = phase else { return }
    measure(offset, at: now)
    live = offset
  }

  /// All bytes of the file have arrived.
  package mutating func arrived() { if case .flowing = phase { phase = .finishing } }

  private mutating func measure(_ offset: Int64, at now: Instant) {
    guard let sample, now - sample.at >= .milliseconds(100) else { return }
    rate = Int64(Double(max(offset - sample.bytes, 0)) / (Double((now - sample.at).nanoseconds) / 1e9))
    self.sample = (offset, now)
  }

  /// The bytes before `offset` are there; those of a download are synced.
  package mutating func advanced(to offset: Int64, at now: Instant) {
    switch phase {
    case .flowing, .finishing, .stopping: break
    case .waiting, .backingOff, .connecting, .settling, .ended: return
    }
    measure(offset, at: now)
    (record.offset, live) = (offset, max(live ?? 0, offset))
  }

  package mutating func stop(_ stop: Stop) {
    precondition(isRunning, "a transfer stops in \(phase)")
    if case .stopping(.cancelled) = phase { return }
    phase = .stopping(stop)
  }

  /// The attempt has ended; nothing of it runs any more.
  package mutating func attemptEnded(_ end: AttemptEnd, at now: Now) {
    (sample, rate, live) = (nil, nil, nil)
    if case .stopping(let stop) = phase, let phase = stopped(stop, end, at: now) {
      self.phase = phase
      return
    }
    failures = hasBrought(end) ? 0 : failures + 1
    switch end {
    case .finished(let file): settle(.done(file), at: now)
    case .failed(let failure): settle(.failed(failure), at: now)
    case .interrupted(let text): backOff(.retry, text, atLeast: .zero, at: now)
    case .busy(let text, let wait): backOff(.retry, text, atLeast: wait ?? .zero, at: now)
    case .noRoom(let text): backOff(.room, text, atLeast: .zero, at: now)
    case .startOver(let text, let rangesLie):
      forgetBytes()
      record.rangesLie = record.rangesLie || rangesLie
      backOff(.retry, text, atLeast: .zero, at: now)
    case .stopped: phase = .waiting(.turn)
    }
  }

  /// Whether the attempt brought bytes that the next one need not bring again.
  private func hasBrought(_ end: AttemptEnd) -> Bool {
    if case .startOver = end { return false }
    return transfer.method == .get && record.offset > offsetAtStart
  }

  /// What follows if the attempt was asked to stop. `nil` if its own end counts, because it is an end for good.
  private mutating func stopped(_ stop: Stop, _ end: AttemptEnd, at now: Now) -> Phase? {
    switch end {
    case .finished, .failed: return nil
    case .startOver(_, let rangesLie):
      forgetBytes()
      record.rangesLie = record.rangesLie || rangesLie
    case .interrupted, .busy, .noRoom, .stopped: break
    }
    switch stop {
    case .paused(let wait):
      // Room is looked for again only after a while, because only an attempt can tell whether it suffices.
      guard wait == .quota || wait == .room else { return .waiting(wait) }
      if record.total == nil { forgetBytes() }
      failures += 1
      let length = Backoff.wait(after: failures, of: key)
      return .backingOff(wait, until: now.instant + length, date: now.date + length)
    case .interrupted:
      failures = hasBrought(end) ? 0 : failures + 1
      backOff(.retry, "an operator simulated an interruption (baton simulate transfer)", atLeast: .zero, at: now)
    case .drained: return .waiting(.turn)
    case .cancelled: settle(.cancelled, at: now)
    case .failed(let failure): settle(.failed(failure), at: now)
    }
    return phase
  }

  /// What went wrong last, for people.
  package mutating func hadProblem(_ text: String) { record.lastError = String(text.prefix(1000)) }

  private mutating func forgetBytes() {
    (record.offset, record.validator, record.total) = (0, nil, nil)
  }

  private mutating func backOff(_ wait: TransferWait, _ text: String, atLeast least: Duration, at now: Now) {
    hadProblem(text)
    let length = max(least, Backoff.wait(after: failures, of: key))
    phase = .backingOff(wait, until: now.instant + length, date: now.date + length)
  }

  // MARK: Ends

  /// The transfer ends; the journal has to say so before any other process is told.
  package mutating func settle(_ end: TransferEnd, at now: Now) {
    phase = .settling(end)
    (record.end, record.endedAt) = (end, now.date)
  }

  package mutating func settled() {
    guard case .settling(let end) = phase else { preconditionFailure("a transfer is settled in \(phase)") }
    phase = .ended(end)
  }

  /// A transfer that does not run now waits for this.
  package mutating func waits(for wait: TransferWait) {
    precondition(!isRunning && !isSettled, "a transfer waits in \(phase)")
    phase = .waiting(wait)
  }

  package var status: TransferStatus {
    TransferStatus(
      key: key, state: state, bytes: live ?? record.offset, total: record.total ?? transfer.size, bytesPerSecond: rate,
      attempts: record.attempts, resumedFrom: record.resumedFrom, httpStatus: record.httpStatus,
      lastError: record.lastError, orderedAt: record.orderedAt, endedAt: hasEnded ? record.endedAt : nil)
  }

  private var state: TransferState {
    switch phase {
    case .waiting(let wait): .waiting(wait, until: wait == .earliestBeginDate ? transfer.earliestBeginDate : nil)
    case .backingOff(let wait, _, let date): .waiting(wait, until: date)
    case .connecting, .flowing, .finishing, .stopping, .settling: .running
    case .ended(let end): .ended(end)
    }
  }
}
