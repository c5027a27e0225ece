import BatonModel
import BatonTelemetry
import ServiceContextModule
import Synchronization
import Tracing

/// The span of one run of a handler, and those of its batches: performs what a `BatchSampler` decides.
///
/// Made with the process's tracer, whichever that is. Where there is none, or the request is not sampled, nothing is
/// recorded, and it costs no more than a context.
///
/// A batch's span is made when the batch is to be sent, with its times. With `BatonTracer` it is made earlier if a handler
/// makes something meanwhile, which is a child of it then; with other tracers that is a child of the run.
final class RunSpan: OpenBatch {
  private struct Batch {
    let number: Int
    var start: Timestamp
    /// There once it is held.
    var end: Timestamp?
    /// Nil while nothing refers to it.
    var span: (any Tracing.Span)?
    var checkpointBytes: Int?

    mutating func restart(at date: Timestamp) { (start, span) = (date, nil) }
  }

  private struct State {
    /// Let go at the end: its context has the run.
    var span: (any Tracing.Span)?
    var isRecording = false
    var sampler: BatchSampler
    var open: Batch?
    var held: Batch?
  }

  private let tracing: RunTracing
  private let labels: LaunchLabels
  /// The tracer is called while it is locked: a batch is not begun before the one before has ended, whoever commits.
  private let state: Mutex<State>

  init(_ assignment: Assignment, _ definition: Definition, _ tracing: RunTracing) {
    self.tracing = tracing
    labels = LaunchLabels(assignment, definition, host: tracing.host)
    let launch = SpanContext(assignment.trace)
    let sampler = BatchSampler(
      tracing.sampling, seed: launch.trace.low, firstBatch: assignment.progress.batches,
      repeatsBatch: assignment.repeatsBatch)
    state = Mutex(State(sampler: sampler))
    let (now, date) = (tracing.clocks.instant(), tracing.clocks.date())
    let span = begin(under: launch, of: assignment, at: date)
    state.withLock { state in
      (state.span, state.isRecording) = (span, span.isRecording)
      if state.isRecording { perform(state.sampler.begin(at: now), &state, at: date) }
    }
  }

  private func begin(under launch: SpanContext, of assignment: Assignment, at date: Timestamp) -> any Tracing.Span {
    if let baton = tracing.baton { return baton.startRun(labels.runName, under: launch, openBatch: self, at: date) }
    return tracing.tracer.startSpan(
      labels.runName, context: tracing.context(of: assignment), ofKind: .internal, at: date.forTracing)
  }

  /// What the handler runs in: spans that it makes are children of its batch, log lines that it writes have the trace.
  var context: ServiceContext { state.withLock { $0.span?.context } ?? .topLevel }

  /// `runtime`, with its batches told to their spans.
  func traced(_ runtime: any CommandRuntime) -> any CommandRuntime {
    state.withLock(\.isRecording) ? TracedRuntime(runtime: runtime, run: self) : runtime
  }

  func end(_ end: RunEnd) {
    perform(end: end) { $0.end(end.ofBatch, at: $1) }
    // Not before the end of its last batch.
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

  /// - Parameter bytes: the size of the checkpoint; nil if it has no cursor.
  func committed(bytes: Int?) {
    perform(bytes: bytes) { $0.committed(at: $1) }
  }

  var batch: (any Tracing.Span)? { tracing.baton == nil ? nil : state.withLock { openSpan(&$0) } }

  /// What a process that is started now has for its parent: the batch if that is certain to be sent, else the run.
  var traceparent: String? {
    let context = state.withLock { state in
      let batch = tracing.baton != nil && state.sampler.isCertain ? openSpan(&state) : nil
      return batch?.context ?? runContext(&state)
    }
    return tracing.traceparent(of: context)
  }

  private func openSpan(_ state: inout State) -> (any Tracing.Span)? {
    guard let open = state.open else { return nil }
    let span = open.span ?? startSpan(of: open, &state)
    state.open?.span = span
    return span
  }

  private func startSpan(of batch: Batch, _ state: inout State) -> any Tracing.Span {
    tracing.tracer.startSpan(
      labels.batchName, context: runContext(&state), ofKind: .internal, at: batch.start.forTracing)
  }

  /// Of the run alone, whatever is open in it.
  private func runContext(_ state: inout State) -> ServiceContext {
    var context = state.span?.context ?? .topLevel
    context.openBatch = nil
    return context
  }

  // MARK: Effects

  private func perform(
    bytes: Int? = nil, end: RunEnd? = nil, _ decide: (inout BatchSampler, Instant) -> [BatchSampler.Effect]
  ) {
    let (now, date) = (tracing.clocks.instant(), tracing.clocks.date())
    state.withLock { state in
      guard state.isRecording else { return }
      state.open?.checkpointBytes = bytes
      perform(decide(&state.sampler, now), &state, at: date, end)
    }
  }

  private func perform(
    _ effects: [BatchSampler.Effect], _ state: inout State, at date: Timestamp, _ end: RunEnd? = nil
  ) {
    for effect in effects { perform(effect, &state, at: date, end) }
  }

  private func perform(_ effect: BatchSampler.Effect, _ state: inout State, at date: Timestamp, _ end: RunEnd?) {
    switch effect {
    case .begin(let number): state.open = Batch(number: number, start: date)
    // One that has a child already began earlier.
    case .restart: if state.open.map({ isDiscarded($0) }) == true { state.open?.restart(at: date) }
    case .hold:
      state.held = state.open.take()
      state.held?.end = date
    case .end(let reason): send(state.open.take(), &state, reason, at: date, end)
    case .drop: drop(state.open.take(), &state, at: date)
    case .endHeld(let reason): send(state.held.take(), &state, reason, at: date, nil)
    case .dropHeld: drop(state.held.take(), &state, at: date)
    }
  }

  /// False if something refers to its span, which is to be sent then. Nothing is left of it otherwise.
  private func isDiscarded(_ batch: Batch) -> Bool {
    guard let span = batch.span else { return true }
    return (span as? BatonSpan)?.discard() ?? false
  }

  private func drop(_ batch: Batch?, _ state: inout State, at date: Timestamp) {
    if let batch, !isDiscarded(batch) { send(batch, &state, .parent, at: date, nil) }
  }

  private func send(
    _ batch: Batch?, _ state: inout State, _ reason: BatchSampler.Reason, at date: Timestamp, _ end: RunEnd?
  ) {
    guard let batch else { return }
    let span = batch.span ?? startSpan(of: batch, &state)
    let time = batch.end ?? date
    if let end { span.says(end, at: time) }
    span.end(at: time, adding: labels.attributes(ofBatch: batch.number, reason, checkpointBytes: batch.checkpointBytes))
  }
}
