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
///
/// Run and batches are both children of the launch, whose span the coordinator always sends: a run is sent when it ends, so
/// that a worker that is killed sends none, and its batches would have a parent that no backend ever sees.
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

  /// A batch that has ended, and is still to be told so.
  private struct Ended {
    let span: any Tracing.Span
    let time: Timestamp
    let attributes: [Attribute]
    /// It ends now, and did not when it was held.
    let wasOpen: Bool
  }

  private let tracing: RunTracing
  /// The launch as a parent.
  private let launch: ServiceContext
  private let labels: LaunchLabels
  /// Spans begin while it is locked, and end when it is not: what a span says of an error is the code of others.
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
    let span = open.span ?? startSpan(of: open)
    state.open?.span = span
    return span
  }

  private func startSpan(of batch: Batch) -> any Tracing.Span {
    tracing.tracer.startSpan(
      labels.batchName, context: launch, ofKind: .internal, at: batch.start.forTracing)
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
    // One that has a child already began earlier.
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

  /// False if something refers to its span, which is to be sent then. Nothing is left of it otherwise.
  private func isDiscarded(_ batch: Batch) -> Bool {
    guard let span = batch.span else { return true }
    return (span as? BatonSpan)?.discard() ?? false
  }

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
