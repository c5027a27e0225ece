package import BatonModel

/// The bounded queue between a worker's spans and its exporter: decides when which spans are sent, and does nothing.
///
/// A batch goes when 512* spans wait, 5 s* after the first of them came, or on a flush; one at a time, in the order in
/// which they came. What does not fit is dropped and counted, so telemetry never holds a batch of work up. The shell
/// performs the effects, calls `tick` at `nextTick`, and answers each `export` with exactly one `exported`.
package struct BatchQueue: Sendable {
  package enum Effect: Hashable, Sendable {
    /// Send these now. Nothing else is to be sent before `exported` was called.
    case export([SpanRecord])
    /// All that had been accepted when this flush was asked for is sent or dropped.
    case flushed(Int)
    /// Shut down: nothing waits, nothing is on its way, nothing will come.
    case ended
  }

  /// Why spans were not sent and will not be.
  package enum Drop: String, Hashable, Sendable, CaseIterable {
    /// The queue was full: the newest is dropped, not what waits already.
    case full
    /// The backend refused them for good, wholly or in part.
    case rejected
    /// The backend was away through every attempt.
    case unreachable
    /// They came after the end, or the backend was away at the end.
    case shutDown
  }

  /// What is on its way.
  private enum Phase {
    case idle
    /// The backend has a batch, for the nth time.
    case exporting([SpanRecord], attempt: Int)
    /// The backend was away; the batch is sent again at this time.
    case waiting([SpanRecord], attempt: Int, until: Instant)
    case ended
  }

  private let limits: BatchLimits
  private let backoff: Backoff
  private var phase = Phase.idle
  private var queue: [SpanRecord] = []
  /// When the oldest in `queue` has waited long enough.
  private var due: Instant?
  private var isShuttingDown = false
  private var accepted = 0
  private var settled = 0
  private var flushes: [(id: Int, target: Int)] = []
  /// Spans that the backend took.
  package private(set) var delivered = 0
  /// Spans that were dropped, by cause; `baton_spans_dropped_total` is their sum.
  package private(set) var drops: [Drop: Int] = [:]

  package init(limits: BatchLimits = BatchLimits(), backoff: Backoff = Backoff()) {
    (self.limits, self.backoff) = (limits, backoff)
  }

  /// Spans that wait or are on their way; never more than the limit.
  package var count: Int { queue.count + inFlight.count }

  /// When `tick` has something to do next, nil while only an `add`, a flush or an answer can change anything.
  package var nextTick: Instant? {
    switch phase {
    case .idle: due
    case .waiting(_, _, let until): until
    case .exporting, .ended: nil
    }
  }

  /// Takes a finished span, or drops it if the queue is full or shut down.
  package mutating func add(_ span: SpanRecord, at now: Instant) -> [Effect] {
    guard !isShuttingDown, count < limits.queue else {
      drop(1, isShuttingDown ? .shutDown : .full)
      return []
    }
    if queue.isEmpty { due = now + limits.delay }
    queue.append(span)
    accepted += 1
    return queue.count < limits.batch ? [] : next(at: now)
  }

  /// Time has passed.
  package mutating func tick(at now: Instant) -> [Effect] { next(at: now) }

  /// Everything accepted so far goes as soon as it can; then comes `.flushed(id)`. A batch that waits for a backend
  /// which is away is not sent earlier for it: the caller bounds how long it waits.
  package mutating func flush(_ id: Int, at now: Instant) -> [Effect] {
    flushes.append((id, accepted))
    return finished() + next(at: now)
  }

  /// The backend's answer to the last `.export`.
  ///
  /// - Parameter draw: from 0 up to 1, for the backoff.
  package mutating func exported(_ verdict: ExportVerdict, draw: Double, at now: Instant) -> [Effect] {
    guard case .exporting(let batch, let attempt) = phase else {
      preconditionFailure("exported(\(verdict)) while nothing is on its way")
    }
    phase = .idle
    switch verdict {
    case .delivered: settle(batch.count, rejected: 0)
    case .partial(let rejected, _): settle(batch.count, rejected: Int(clamping: rejected))
    case .rejected: settle(batch.count, rejected: batch.count)
    case .retry(let asked): retry(batch, attempt, asked, draw, at: now)
    }
    return finished() + next(at: now)
  }

  /// Takes no more spans, sends what waits at once, and ends: with the first batch that the backend is away for, the
  /// rest is dropped too. Asking twice changes nothing.
  package mutating func shutDown(at now: Instant) -> [Effect] {
    guard !isShuttingDown else { return [] }
    isShuttingDown = true
    if case .waiting(let batch, let attempt, _) = phase { phase = .waiting(batch, attempt: attempt, until: now) }
    return next(at: now)
  }
}

// What follows changes one thing each.
extension BatchQueue {
  private var inFlight: [SpanRecord] {
    switch phase {
    case .exporting(let batch, _), .waiting(let batch, _, _): batch
    case .idle, .ended: []
    }
  }

  /// Whether a batch goes now, if nothing is on its way.
  private func isDue(at now: Instant) -> Bool {
    guard let due else { return false }
    return queue.count >= limits.batch || due <= now || isShuttingDown || !flushes.isEmpty
  }

  private mutating func next(at now: Instant) -> [Effect] {
    switch phase {
    case .idle where isDue(at: now): return export(takeBatch(at: now), attempt: 1)
    case .idle where isShuttingDown:
      phase = .ended
      return [.ended]
    case .waiting(let batch, let attempt, let until) where until <= now: return export(batch, attempt: attempt + 1)
    case .idle, .waiting, .exporting, .ended: return []
    }
  }

  private mutating func export(_ batch: [SpanRecord], attempt: Int) -> [Effect] {
    phase = .exporting(batch, attempt: attempt)
    return [.export(batch)]
  }

  private mutating func takeBatch(at now: Instant) -> [SpanRecord] {
    let batch = Array(queue.prefix(limits.batch))
    queue.removeFirst(batch.count)
    due = queue.isEmpty ? nil : now + limits.delay
    return batch
  }

  private mutating func retry(
    _ batch: [SpanRecord], _ attempt: Int, _ asked: Duration?, _ draw: Double, at now: Instant
  ) {
    if isShuttingDown { return giveUp(batch.count) }
    guard attempt < backoff.attempts else { return lose(batch.count, .unreachable) }
    let until = now + backoff.wait(after: attempt, asked: asked, draw: draw)
    phase = .waiting(batch, attempt: attempt, until: until)
  }

  /// A backend that did not answer for this batch will not for the next: a shutdown waits for it once.
  private mutating func giveUp(_ inFlight: Int) {
    lose(inFlight + queue.count, .shutDown)
    queue = []
    due = nil
  }

  private mutating func settle(_ count: Int, rejected: Int) {
    let rejected = min(max(0, rejected), count)
    delivered += count - rejected
    settled += count - rejected
    if rejected > 0 { lose(rejected, .rejected) }
  }

  /// Accepted spans that will not be sent.
  private mutating func lose(_ count: Int, _ cause: Drop) {
    settled += count
    drop(count, cause)
  }

  private mutating func drop(_ count: Int, _ cause: Drop) { drops[cause, default: 0] += count }

  /// The flushes that have nothing to wait for any more.
  private mutating func finished() -> [Effect] {
    let done = flushes.filter { $0.target <= settled }
    flushes.removeAll { $0.target <= settled }
    return done.map { .flushed($0.id) }
  }
}
