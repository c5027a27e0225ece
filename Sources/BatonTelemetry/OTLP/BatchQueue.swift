package import BatonModel

/// The bounded queue between a worker's spans and its exporter: decides when which spans are sent, and does nothing.
///
/// A batch of spans is sent when 512 spans wait, 5 s after the first of them came, or on a flush (the numbers are in
/// Documentation/limits.md). Batches are sent one at a time, in the order in which their spans came. Spans that do not
/// fit are dropped and counted, so that telemetry never holds up a batch of work. While the backend is away, a batch is
/// sent again until its time or its attempts are over. The shell performs the effects, calls `tick` at `nextTick`, and
/// answers each `export` with exactly one `exported`.
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
    /// The backend was away through every attempt, or asked for a longer wait than the batch has.
    case unreachable
    /// They came after the end, or the backend was away at the end.
    case shutDown
  }

  /// What is on its way.
  private enum Phase {
    case idle
    /// The backend has a batch.
    case exporting(Sending)
    /// The backend was away; the batch is sent again at this time.
    case waiting(Sending, until: Instant)
    case ended
  }

  private struct Sending {
    var spans: [SpanRecord]
    /// From 1.
    var attempt = 1
    /// When it was sent for the first time.
    let began: Instant
  }

  private let limits: BatchLimits
  private let backoff: Backoff
  private let timeout: Duration
  private var size: RequestSize
  private var phase = Phase.idle
  private var queue: [SpanRecord] = []
  /// When the oldest in `queue` has waited long enough.
  private var due: Instant?
  /// Until when a backend that was away has peace, though its batch was dropped.
  private var peace: Instant?
  private var isShuttingDown = false
  private var accepted = 0
  private var settled = 0
  private var flushes: [(id: Int, target: Int)] = []
  /// Spans that the backend took.
  package private(set) var delivered = 0
  /// Spans that were dropped, by cause.
  package private(set) var drops: [Drop: Int] = [:]
  /// The sum of `drops`.
  package private(set) var dropped = 0

  /// - Parameter timeout: no attempt for a batch begins later than this after the first one.
  package init(
    limits: BatchLimits = BatchLimits(), backoff: Backoff = Backoff(), timeout: Duration = .seconds(30)
  ) {
    (self.limits, self.backoff, self.timeout) = (limits, backoff, timeout)
    size = RequestSize(atMost: limits.batch)
  }

  /// Spans that wait or are on their way; never more than the limit.
  package var count: Int { accepted - settled }

  /// When `tick` has something to do next, nil while only an `add`, a flush or an answer can change anything.
  package var nextTick: Instant? {
    switch phase {
    case .idle: due.map { max(isPressing ? .past : $0, peace ?? .past) }
    case .waiting(_, let until): until
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
    return queue.count < size.spans ? [] : next(at: now)
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

  /// Takes no more spans, sends what waits at once, and ends: with the first batch that the backend is away for, the
  /// rest is dropped too. Asking twice changes nothing.
  package mutating func shutDown(at now: Instant) -> [Effect] {
    guard !isShuttingDown else { return [] }
    isShuttingDown = true
    if case .waiting(let sending, _) = phase { phase = .waiting(sending, until: now) }
    return next(at: now)
  }
}

// What follows changes one thing each.
extension BatchQueue {
  /// Whether what waits goes without waiting longer.
  private var isPressing: Bool { queue.count >= size.spans || !flushes.isEmpty }

  /// Whether a batch goes now, if nothing is on its way.
  private func isDue(at now: Instant) -> Bool {
    guard let due else { return false }
    if isShuttingDown { return true }
    return (isPressing || due <= now) && (peace ?? .past) <= now
  }

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

  /// The same spans go again at once, in smaller requests; one that is too large by itself is dropped.
  private mutating func divide(_ spans: [SpanRecord], at now: Instant) {
    guard size.wasTooLarge(spans.count) else { return settle(spans.count, rejected: spans.count) }
    queue.insert(contentsOf: spans, at: 0)
    due = now
  }

  private mutating func retry(_ sending: Sending, _ asked: Duration?, _ draw: Double, at now: Instant) {
    if isShuttingDown { return giveUp(sending.spans.count) }
    let until = now + backoff.wait(after: sending.attempt, asked: asked, draw: draw)
    guard sending.attempt < backoff.attempts, until - sending.began <= timeout else {
      peace = until
      return lose(sending.spans.count, .unreachable)
    }
    phase = .waiting(sending, until: until)
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

  private mutating func drop(_ count: Int, _ cause: Drop) {
    drops[cause, default: 0] += count
    dropped += count
  }

  /// The flushes that have nothing to wait for any more.
  private mutating func finished() -> [Effect] {
    let done = flushes.filter { $0.target <= settled }
    flushes.removeAll { $0.target <= settled }
    return done.map { .flushed($0.id) }
  }
}

extension Instant {
  fileprivate static let past = Instant(nanoseconds: .min)
}
