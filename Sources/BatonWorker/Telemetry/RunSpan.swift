import BatonBase
import BatonModel
import BatonTelemetry
import ServiceContextModule
import Synchronization
import Tracing

/// The span of one run of a handler, and the spans of its batches. It performs the effects of a `BatchSampler`.
///
/// It uses the tracer of the process. Without a tracer, or if the request is not sampled, nothing is recorded, and the
/// cost is that of a context.
///
/// The span of a batch is made when the batch is to be sent, with the times of the batch. With `BatonTracer` it is made
/// earlier if the handler starts a span during the batch; that span then becomes its child. With other tracers, spans
/// of the handler become children of the run.
///
/// The run and its batches are all children of the launch's span, which the coordinator always sends. The run's span is
/// sent only when the run ends, so a killed worker sends none. If batches were its children, their parent would then be
/// missing in the backend.
final class RunSpan: OpenBatch {
  private struct Batch {
    let number: Int
    var start: Timestamp
    /// Set when the batch is held.
    var end: Timestamp?
    /// `nil` until the span is needed as a parent.
    var span: (any Tracing.Span)?
    var checkpointBytes: Int?

    mutating func restart(at date: Timestamp) { (start, span) = (date, nil) }
  }

  private struct State {
    /// Set to `nil` at the end, because the span's context refers to this object.
    var span: (any Tracing.Span)?
    var isRecording = false
    var sampler: BatchSampler
    var open: Batch?
    var held: Batch?
  }

  /// A batch whose span still has to be ended, after the mutex is unlocked.
  private struct Ended {
    let span: any Tracing.Span
    let time: Timestamp
    let attributes: [Attribute]
    /// The batch was open until now, and was not held before.
    let wasOpen: Bool
  }

  private let tracing: RunTracing
  /// The launch's span as the parent.
  private let launch: ServiceContext
  private let labels: LaunchLabels
  /// Spans are started while the mutex is locked, and ended after it is unlocked: to record an error in a span calls
  /// code outside of Baton.
  private let state: Mutex<State>

  init(_ assignment: Assignment, _ definition: Definition, _ tracing: RunTracing) {
    self.tracing = tracing
    labels = LaunchLabels(assignment, definition, host: tracing.host)
    self.launch = tracing.context(of: assignment)
    let launch = SpanContext(assignment.trace)
    let sampler = BatchSampler(
      tracing.sampling, seed: launch.trace.low, firstBatch: assignment.progress.batches,
      repeatsBatch: assignment.repeatsBatch)
    state = Mutex(State(sampler: sampler))
    let (now, date) = (tracing.clocks.instant(), tracing.clocks.date())
    let span = begin(under: launch, of: assignment, at: date)
    state.withLock { state in
      (state.span, state.isRecording) = (span, span.isRecording)
      if state.isRecording { _ = perform(state.sampler.begin(at: now), &state, at: date) }
    }
  }

  private func begin(under launch: SpanContext, of assignment: Assignment, at date: Timestamp) -> any Tracing.Span {
    if let baton = tracing.baton { return baton.startRun(labels.runName, under: launch, openBatch: self, at: date) }
    return tracing.tracer.startSpan(
      labels.runName, context: self.launch, ofKind: .internal, at: date.forTracing)
  }

  /// The context in which the handler runs. Spans that the handler starts become children of its batch, and its log
  /// lines contain the trace.
  var context: ServiceContext { state.withLock { $0.span?.context } ?? .topLevel }

  /// Wraps `runtime`, so that this object learns of its batches. Returns `runtime` itself if the run is not recorded.
  func traced(_ runtime: any CommandRuntime) -> any CommandRuntime {
    state.withLock(\.isRecording) ? TracedRuntime(runtime: runtime, run: self) : runtime
  }

  /// Ends the spans of the open batch and of the run.
  func end(_ end: RunEnd) {
    perform(end: end) { $0.end(end.ofBatch, at: $1) }
    // The run's date is read after its last batch has ended, so that it is not earlier.
    let date = tracing.clocks.date()
    let (span, isRecording, committed) = state.withLock { state in
      defer { state.isRecording = false }
      return (state.span.take(), state.isRecording, state.sampler.committed)
    }
    guard let span else { return }
    guard isRecording else { return span.end() }
    span.says(end, at: date)
    span.end(at: date, adding: labels.attributes(ofRun: end, batches: committed))
  }
}

// MARK: Batches

extension RunSpan {
  func announced() { perform { $0.announced(at: $1) } }

  /// - Parameter bytes: the size of the checkpoint's cursor; `nil` if it has none.
  func committed(bytes: Int?) {
    perform(bytes: bytes) { $0.committed(at: $1) }
  }

  /// The span of the open batch, made if necessary. `BatonTracer` asks for it when the handler starts a span.
  var batch: (any Tracing.Span)? { tracing.baton == nil ? nil : state.withLock { openSpan(&$0) } }

  /// The parent for a process that is started now: the open batch if it will be sent in any case, otherwise the run.
  var traceparent: String? {
    let context = state.withLock { state in
      let batch = tracing.baton != nil && state.sampler.isCertain ? openSpan(&state) : nil
      return batch?.context ?? runContext(&state)
    }
    return tracing.traceparent(of: context)
  }

  private func openSpan(_ state: inout State) -> (any Tracing.Span)? {
    guard let open = state.open else { return nil }
    let span = open.span ?? startSpan(of: open)
    state.open?.span = span
    return span
  }

  private func startSpan(of batch: Batch) -> any Tracing.Span {
    tracing.tracer.startSpan(
      labels.batchName, context: launch, ofKind: .internal, at: batch.start.forTracing)
  }

  /// The context of the run itself, without the open batch.
  private func runContext(_ state: inout State) -> ServiceContext {
    var context = state.span?.context ?? .topLevel
    context.openBatch = nil
    return context
  }

  // MARK: Effects

  /// Asks the sampler, performs its effects, and ends the spans that are to be sent.
  private func perform(
    bytes: Int? = nil, end: RunEnd? = nil, _ decide: (inout BatchSampler, Instant) -> [BatchSampler.Effect]
  ) {
    let (now, date) = (tracing.clocks.instant(), tracing.clocks.date())
    let ended = state.withLock { state -> [Ended] in
      guard state.isRecording else { return [] }
      state.open?.checkpointBytes = bytes
      return perform(decide(&state.sampler, now), &state, at: date)
    }
    for batch in ended {
      if let end, batch.wasOpen { batch.span.says(end, at: batch.time) }
      batch.span.end(at: batch.time, adding: batch.attributes)
    }
  }

  private func perform(_ effects: [BatchSampler.Effect], _ state: inout State, at date: Timestamp) -> [Ended] {
    effects.compactMap { perform($0, &state, at: date) }
  }

  private func perform(_ effect: BatchSampler.Effect, _ state: inout State, at date: Timestamp) -> Ended? {
    switch effect {
    case .begin(let number): state.open = Batch(number: number, start: date)
    // A batch that already has a child keeps its earlier beginning.
    case .restart: if state.open.map({ isDiscarded($0) }) == true { state.open?.restart(at: date) }
    case .hold:
      state.held = state.open.take()
      state.held?.end = date
    case .end(let reason): return ended(state.open.take(), &state, reason, at: date, wasOpen: true)
    case .drop: return dropped(state.open.take(), &state, at: date)
    case .endHeld(let reason): return ended(state.held.take(), &state, reason, at: date)
    case .dropHeld: return dropped(state.held.take(), &state, at: date)
    }
    return nil
  }

  /// Discards the batch's span. Returns `false` if another span refers to it, because it must then be sent.
  private func isDiscarded(_ batch: Batch) -> Bool {
    guard let span = batch.span else { return true }
    return (span as? BatonSpan)?.discard() ?? false
  }

  /// Discards a batch, or returns it to be sent if it has children.
  private func dropped(_ batch: Batch?, _ state: inout State, at date: Timestamp) -> Ended? {
    guard let batch, !isDiscarded(batch) else { return nil }
    return ended(batch, &state, .parent, at: date)
  }

  private func ended(
    _ batch: Batch?, _ state: inout State, _ reason: BatchSampler.Reason, at date: Timestamp,
    wasOpen: Bool = false
  ) -> Ended? {
    guard let batch else { return nil }
    return Ended(
      span: batch.span ?? startSpan(of: batch), time: batch.end ?? date,
      attributes: labels.attributes(ofBatch: batch.number, reason, checkpointBytes: batch.checkpointBytes),
      wasOpen: wasOpen)
  }
}
