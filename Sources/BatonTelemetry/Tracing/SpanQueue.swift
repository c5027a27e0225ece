package import BatonBase
internal import BatonModel
package import Logging
internal import Synchronization

/// Sends the worker's finished spans to the backend. It is the shell around a `BatchQueue`, and performs the effects
/// that it decides.
///
/// `add` may be called from any task; it never waits. `run` sends the spans, one request at a time.
package final class SpanQueue: SpanSink {
  private struct State {
    var queue: BatchQueue
    /// The steps that `run` has to perform, in this order.
    var steps: [Step] = []
    var flushes: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastFlush = 0
    var report = DropReport()

    /// Stores the effects that `run` has to perform, and returns the numbers of the flushes that are complete.
    mutating func take(_ effects: [BatchQueue.Effect]) -> [Int] {
      var flushed: [Int] = []
      for effect in effects {
        switch effect {
        case .export(let spans): steps.append(.export(spans))
        case .ended: steps.append(.end)
        case .flushed(let flush): flushed.append(flush)
        }
      }
      return flushed
    }
  }

  private enum Step {
    case export([SpanRecord])
    case end
  }

  private let state: Mutex<State>
  private let work = Signal()
  private let stop = Signal()
  private let resource: Resource
  private let sender: any OTLPSending
  private let timeout: Duration
  private let clock: Clocks
  private let draw: @Sendable () -> Double
  private let logger: Logger
  /// Counts dropped spans for the metric.
  package let drops: SpanDrops

  /// - Parameters:
  ///   - timeout: the longest time from the first to the last attempt to send a batch. It also bounds how long `run`
  ///     goes on after `shutDown`, up to `closingWindow`.
  ///   - draw: returns random numbers from 0 up to but not including 1, for the backoff.
  package init(
    limits: BatchLimits = BatchLimits(), backoff: Backoff = Backoff(), timeout: Duration = .seconds(30),
    resource: Resource, sender: any OTLPSending, drops: SpanDrops = SpanDrops(), clock: Clocks = .system,
    draw: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, logger: Logger
  ) {
    state = Mutex(State(queue: BatchQueue(limits: limits, backoff: backoff, timeout: timeout)))
    (self.resource, self.sender, self.timeout, self.drops) = (resource, sender, timeout, drops)
    (self.clock, self.draw, self.logger) = (clock, draw, logger)
  }

  /// How many spans were dropped since the start, by cause.
  package var droppedByCause: [BatchQueue.Drop: Int] { state.withLock { $0.queue.drops } }

  package func add(_ span: SpanRecord) { change { $0.queue.add(span, at: $1) } }

  package func flush() { change { $0.queue.flush(0, at: $1) } }

  /// Waits until every span that was added before has been sent or dropped, or until the task is cancelled. The caller
  /// has to limit the wait: the flush does not shorten the wait for a backend that could not be reached.
  package func flushed() async {
    let flush = state.withLock { state in
      state.lastFlush += 1
      return state.lastFlush
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { state, now in
          state.flushes[flush] = continuation
          return state.queue.flush(flush, at: now)
        }
        // A cancellation before the continuation was stored has not resumed it.
        if Task.isCancelled { resume(flush) }
      }
    } onCancel: {
      resume(flush)
    }
  }

  /// The longest time that the end of a process waits for a backend, because people wait for the process to end.
  package static let closingWindow = Duration.seconds(5)

  /// Accepts no more spans. `run` sends the spans that wait, and returns. Further calls do nothing.
  package func shutDown() {
    change { $0.queue.shutDown(at: $1) }
    stop.raise()
  }

  /// Sends spans until `shutDown` has been called and no spans wait, or until `timeout` (at most `closingWindow`) has
  /// passed since `shutDown`. If the task is cancelled, spans that cannot be sent at once are dropped.
  package func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.send() }
      group.addTask {
        await self.stop.wait()
        try? await self.clock.sleep(min(self.timeout, Self.closingWindow))
      }
      await group.next()
      group.cancelAll()
    }
  }
}

// The parts of `run`.
extension SpanQueue {
  private func send() async {
    while true {
      switch next() {
      case .export(let spans)?:
        let verdict = await sender.send(TraceRequest(resource: resource, spans: spans))
        change { $0.queue.exported(verdict, draw: draw(), at: $1) }
      case .end?: return report(isLast: true)
      case nil: await rest()
      }
      report()
    }
  }

  private func next() -> Step? {
    change { $0.queue.tick(at: $1) }
    return state.withLock { $0.steps.isEmpty ? nil : $0.steps.removeFirst() }
  }

  /// Waits until there is something to do. A cancellation counts as a shutdown, without time for further attempts.
  private func rest() async {
    guard !Task.isCancelled else { return shutDown() }
    guard let tick = state.withLock({ $0.queue.nextTick }) else { return await work.wait() }
    let wait = max(.zero, tick - clock.instant())
    try? await work.wait { [clock] in try await clock.sleep(wait) }
  }

  private func resume(_ flush: Int) { state.withLock { $0.flushes.removeValue(forKey: flush) }?.resume() }

  private func report(isLast: Bool = false) {
    let now = clock.instant()
    let (total, due) = state.withLock { state in
      let total = state.queue.dropped
      return (total, state.report.due(total: total, at: now, isLast: isLast))
    }
    if let due { logger.warning("\(due) spans were dropped, \(total) since the start") }
  }

  /// Changes the state, and then acts on the effects: wakes `run` if there is something new for it, and resumes the
  /// callers whose flushes are complete.
  private func change(_ body: (inout State, Instant) -> [BatchQueue.Effect]) {
    let now = clock.instant()
    let (isNew, flushed) = state.withLock { state in
      let before = (state.queue.nextTick, state.steps.count)
      let flushed = state.take(body(&state, now))
      drops.set(state.queue.dropped)
      return (before != (state.queue.nextTick, state.steps.count), flushed)
    }
    if isNew { work.raise() }
    for flush in flushed { resume(flush) }
  }
}
