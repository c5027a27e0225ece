package import BatonModel

/// The bounded queue between a worker's spans and its exporter. It decides which spans are sent and when, as a value:
/// it performs no I/O and reads no clock.
///
/// A batch of spans is sent when 512 spans wait, 5 s after the first of them was added, or on a flush (the numbers are
/// in Documentation/reference/limits.md). Batches are sent one at a time, in the order in which their spans were added.
/// Spans that do not fit into the queue are dropped and counted, so that telemetry never delays a job. A batch that the
/// backend did not take is sent again until its time or its attempts are used up.
///
/// `SpanQueue` is the shell: it performs the effects, calls `tick` at `nextTick`, and answers each `export` with
/// exactly one call of `exported`.
package struct BatchQueue: Sendable {
  /// What the shell has to do.
  package enum Effect: Hashable, Sendable {
    /// Send these spans now. No other spans may be sent until `exported` has been called.
    case export([SpanRecord])
    /// Every span that had been accepted when flush number `id` was requested has been sent or dropped.
    case flushed(Int)
    /// The shutdown is complete: no spans wait, no batch is being sent, and no more spans are accepted.
    case ended
  }

  /// Why a span was dropped.
  package enum Drop: String, Hashable, Sendable, CaseIterable {
    /// The queue was full. The newest span is dropped; the spans that wait already stay.
    case full
    /// The backend refused the spans for good.
    case rejected
    /// The backend did not take the batch in any attempt within the batch's time, or asked for a longer wait than the
    /// batch had left.
    case unreachable
    /// The span was added after the shutdown, or the backend could not be reached during the shutdown.
    case shutDown
  }

  /// What happens to the current batch.
  private enum Phase {
    case idle
    /// A batch has been given to the shell to send, and the shell has not answered yet.
    case exporting(Sending)
    /// The last attempt failed in a way that can be retried; the batch is sent again at `until`.
    case waiting(Sending, until: Instant)
    case ended
  }

  /// A batch that is being sent, or that waits for its next attempt.
  private struct Sending {
    var spans: [SpanRecord]
    /// The number of the current attempt, from 1.
    var attempt = 1
    /// When the first attempt was made.
    let began: Instant
  }

  private let limits: BatchLimits
  private let backoff: Backoff
  private let timeout: Duration
  private var size: RequestSize
  private var phase = Phase.idle
  private var queue: [SpanRecord] = []
  /// When the oldest span in `queue` will have waited for `limits.delay`; `nil` if the queue is empty.
  private var due: Instant?
  /// No batch is sent before this time. It is set when a batch is dropped because the backend could not be reached, and
  /// it is the time of the attempt that the dropped batch would have had next.
  private var peace: Instant?
  private var isShuttingDown = false
  private var accepted = 0
  private var settled = 0
  private var flushes: [(id: Int, target: Int)] = []
  /// How many spans the backend has taken.
  package private(set) var delivered = 0
  /// How many spans have been dropped, by cause.
  package private(set) var drops: [Drop: Int] = [:]
  /// How many spans have been dropped in all: the sum of `drops`.
  package private(set) var dropped = 0

  /// - Parameter timeout: the longest time from the first attempt to send a batch to the start of its last attempt.
  package init(
    limits: BatchLimits = BatchLimits(), backoff: Backoff = Backoff(), timeout: Duration = .seconds(30)
  ) {
    (self.limits, self.backoff, self.timeout) = (limits, backoff, timeout)
    size = RequestSize(atMost: limits.batch)
  }

  /// How many spans wait or are being sent. The number is never more than `limits.queue`.
  package var count: Int { accepted - settled }

  /// When `tick` has to be called next; `nil` while only an `add`, a flush, a shutdown or a call of `exported` can
  /// change something.
  package var nextTick: Instant? {
    switch phase {
    case .idle: due.map { max(isPressing ? .past : $0, peace ?? .past) }
    case .waiting(_, let until): until
    case .exporting, .ended: nil
    }
  }

  /// Adds a finished span, or drops it if the queue is full or shut down.
  package mutating func add(_ span: SpanRecord, at now: Instant) -> [Effect] {
    guard !isShuttingDown, count < limits.queue else {
      drop(1, isShuttingDown ? .shutDown : .full)
      return []
    }
    if queue.isEmpty { due = now + limits.delay }
    queue.append(span)
    accepted += 1
    return queue.count < size.spans ? [] : next(at: now)
  }

  /// Tells the queue the current time. Sends what has become due.
  package mutating func tick(at now: Instant) -> [Effect] { next(at: now) }

  /// Sends all spans that have been accepted so far as soon as possible. The effect `.flushed(id)` follows when each of
  /// them has been sent or dropped. A flush does not shorten the wait for a backend that could not be reached, so the
  /// caller has to limit its own wait.
  package mutating func flush(_ id: Int, at now: Instant) -> [Effect] {
    flushes.append((id, accepted))
    return finished() + next(at: now)
  }

  /// Takes the backend's answer to the last `.export`. Calling it while no batch is being sent is a programming error
  /// and traps.
  ///
  /// - Parameter draw: a random number from 0 up to but not including 1, for the backoff.
  package mutating func exported(_ verdict: ExportVerdict, draw: Double, at now: Instant) -> [Effect] {
    guard case .exporting(let sending) = phase else {
      preconditionFailure("exported(\(verdict)) while nothing is on its way")
    }
    (phase, peace) = (.idle, nil)
    let count = sending.spans.count
    switch verdict {
    case .delivered:
      size.sufficed()
      settle(count, rejected: 0)
    case .partial(let rejected, _): settle(count, rejected: Int(clamping: rejected))
    case .tooLarge: divide(sending.spans, at: now)
    case .rejected: settle(count, rejected: count)
    case .retry(let asked): retry(sending, asked, draw, at: now)
    }
    return finished() + next(at: now)
  }

  /// Accepts no more spans, sends the spans that wait at once, and ends with the effect `.ended`. If the backend cannot
  /// be reached for one batch, that batch and all remaining spans are dropped. A second call changes nothing.
  package mutating func shutDown(at now: Instant) -> [Effect] {
    guard !isShuttingDown else { return [] }
    isShuttingDown = true
    if case .waiting(let sending, _) = phase { phase = .waiting(sending, until: now) }
    return next(at: now)
  }
}

// The parts of the transitions. Each function changes one thing.
extension BatchQueue {
  /// Whether the spans in the queue are sent without waiting for `due`.
  private var isPressing: Bool { queue.count >= size.spans || !flushes.isEmpty }

  /// Whether a batch has to be sent now, provided that no other batch is being sent.
  private func isDue(at now: Instant) -> Bool {
    guard let due else { return false }
    if isShuttingDown { return true }
    return (isPressing || due <= now) && (peace ?? .past) <= now
  }

  /// Starts what is due now: an attempt for the waiting batch, a new batch, or the end of a shutdown.
  private mutating func next(at now: Instant) -> [Effect] {
    switch phase {
    case .idle where isDue(at: now): return export(Sending(spans: takeBatch(at: now), began: now))
    case .idle where isShuttingDown:
      phase = .ended
      return [.ended]
    case .waiting(var sending, let until) where until <= now:
      sending.attempt += 1
      return export(sending)
    case .idle, .waiting, .exporting, .ended: return []
    }
  }

  private mutating func export(_ sending: Sending) -> [Effect] {
    phase = .exporting(sending)
    return [.export(sending.spans)]
  }

  private mutating func takeBatch(at now: Instant) -> [SpanRecord] {
    let rest = Array(queue.dropFirst(size.spans))
    queue.removeLast(rest.count)
    defer { (queue, due) = (rest, rest.isEmpty ? nil : now + limits.delay) }
    return queue
  }

  /// Puts the spans of a batch that was too large back into the queue, to be sent at once in smaller batches. A single
  /// span that is too large is dropped.
  private mutating func divide(_ spans: [SpanRecord], at now: Instant) {
    guard size.wasTooLarge(spans.count) else { return settle(spans.count, rejected: spans.count) }
    queue.insert(contentsOf: spans, at: 0)
    due = now
  }

  /// Schedules the next attempt for a batch, or drops the batch if its attempts or its time are used up.
  private mutating func retry(_ sending: Sending, _ asked: Duration?, _ draw: Double, at now: Instant) {
    if isShuttingDown { return giveUp(sending.spans.count) }
    let until = now + backoff.wait(after: sending.attempt, asked: asked, draw: draw)
    guard sending.attempt < backoff.attempts, until - sending.began <= timeout else {
      peace = until
      return lose(sending.spans.count, .unreachable)
    }
    phase = .waiting(sending, until: until)
  }

  /// Drops the current batch and all spans in the queue. A shutdown waits only once for a backend that does not answer:
  /// it would not answer for the next batch either.
  private mutating func giveUp(_ inFlight: Int) {
    lose(inFlight + queue.count, .shutDown)
    queue = []
    due = nil
  }

  /// Counts a batch as sent, except for the `rejected` spans, which are dropped.
  private mutating func settle(_ count: Int, rejected: Int) {
    let rejected = min(max(0, rejected), count)
    delivered += count - rejected
    settled += count - rejected
    if rejected > 0 { lose(rejected, .rejected) }
  }

  /// Drops spans that had been accepted.
  private mutating func lose(_ count: Int, _ cause: Drop) {
    settled += count
    drop(count, cause)
  }

  private mutating func drop(_ count: Int, _ cause: Drop) {
    drops[cause, default: 0] += count
    dropped += count
  }

  /// Removes the flushes whose spans have all been sent or dropped, and returns their effects.
  private mutating func finished() -> [Effect] {
    let done = flushes.filter { $0.target <= settled }
    flushes.removeAll { $0.target <= settled }
    return done.map { .flushed($0.id) }
  }
}

extension Instant {
  fileprivate static let past = Instant(nanoseconds: .min)
}
