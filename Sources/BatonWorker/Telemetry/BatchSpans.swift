import BatonModel
import BatonTelemetry
import ServiceContextModule
import Synchronization
import Tracing

/// The spans of one launch's batches: performs what a `BatchSampler` decides.
///
/// A batch's span is made when the batch is to be sent, with its times. With `BatonTracer` it is made earlier if a handler
/// makes something meanwhile, which is a child of it then; with other tracers that is a child of the run.
final class BatchSpans: Sendable {
  private struct Batch {
    let number: Int
    var start: Timestamp
    /// There once it is held.
    var end: Timestamp?
    /// Nil while nothing refers to it.
    var span: (any Tracing.Span)?
    var checkpointBytes: Int?
  }

  private struct State {
    var sampler: BatchSampler
    var open: Batch?
    var held: Batch?
  }

  private let tracer: any Tracer
  private let run: any Tracing.Span
  /// Found once: asking a value for its protocols is slow.
  private let isDiscardable: Bool
  private let labels: LaunchLabels
  private let clocks: WorkerClocks
  private let box = OpenBatch()
  /// The tracer is called while it is locked: a batch is not begun before the one before has ended, whoever commits.
  private let state: Mutex<State>

  /// - Parameter run: recording.
  init(
    of run: any Tracing.Span, _ labels: LaunchLabels, _ sampler: BatchSampler, tracer: any Tracer, clocks: WorkerClocks
  ) {
    (self.run, self.labels, self.tracer, self.clocks) = (run, labels, tracer, clocks)
    isDiscardable = run is any DiscardableSpan
    state = Mutex(State(sampler: sampler))
    perform { $0.begin(at: $1) }
  }

  /// What the handler runs in.
  var context: ServiceContext {
    var context = run.context
    context.openBatch = box
    return context
  }

  /// How many batches were committed.
  var committed: Int { state.withLock { $0.sampler.committed } }

  func announced() { perform { $0.announced(at: $1) } }

  /// - Parameter bytes: the size of the checkpoint; nil if it has no cursor.
  func committed(bytes: Int?) {
    perform(bytes: bytes) { $0.committed(at: $1) }
  }

  func end(_ end: RunEnd) {
    perform(end: end) { $0.end(end.ofBatch, at: $1) }
  }

  /// What a process that is started now has for its parent: the batch if that is certain to be sent, else the run.
  var traceparent: String? {
    let batch = state.withLock { $0.sampler.isCertain ? box.span : nil }
    return tracer.traceparent(of: batch?.context ?? run.context)
  }

  // MARK: Effects

  private func perform(
    bytes: Int? = nil, end: RunEnd? = nil, _ decide: (inout BatchSampler, Instant) -> [BatchSampler.Effect]
  ) {
    let (now, date) = (clocks.instant(), clocks.date())
    state.withLock { state in
      state.open?.checkpointBytes = bytes
      for effect in decide(&state.sampler, now) { perform(effect, &state, at: date, end) }
    }
  }

  private func perform(_ effect: BatchSampler.Effect, _ state: inout State, at date: Timestamp, _ end: RunEnd?) {
    switch effect {
    case .begin(let number): state.open = begin(number, at: date)
    case .restart: restart(&state.open, at: date)
    case .hold:
      state.held = take(&state.open)
      state.held?.end = date
    case .end(let reason): send(take(&state.open), reason, at: date, end)
    case .drop: drop(take(&state.open), at: date)
    case .endHeld(let reason): send(state.held.take(), reason, at: date, nil)
    case .dropHeld: drop(state.held.take(), at: date)
    }
  }

  private func begin(_ number: Int, at date: Timestamp) -> Batch {
    // Otherwise the tracer is not Baton's, and what it begins could not be discarded.
    if isDiscardable { box.open { [self] in startSpan(from: date) } }
    return Batch(number: number, start: date)
  }

  /// One that has a child already began earlier.
  private func restart(_ open: inout Batch?, at date: Timestamp) {
    guard let batch = take(&open) else { return }
    guard let span = batch.span, !discard(span) else {
      open = begin(batch.number, at: date)
      return
    }
    open = batch
    box.open { span }
  }

  private func take(_ open: inout Batch?) -> Batch? {
    let span = box.close()
    guard var batch = open.take() else { return nil }
    batch.span = span ?? batch.span
    return batch
  }

  /// False if something refers to it.
  private func discard(_ span: any Tracing.Span) -> Bool { (span as? any DiscardableSpan)?.discard() ?? false }

  private func drop(_ batch: Batch?, at date: Timestamp) {
    if let span = batch?.span, !discard(span) { send(batch, .parent, at: date, nil) }
  }

  private func send(_ batch: Batch?, _ reason: BatchSampler.Reason, at date: Timestamp, _ end: RunEnd?) {
    guard let batch else { return }
    let span: any Tracing.Span = batch.span ?? startSpan(from: batch.start)
    var attributes = labels.attributes
    attributes.append(Attribute(Names.Attribute.batch, .int(Int64(batch.number))))
    attributes.append(Attribute(Names.Attribute.batchSample, .string(reason.rawValue)))
    if reason == .repeated { attributes.append(Attribute(Names.Attribute.batchRepeated, true)) }
    if let bytes = batch.checkpointBytes {
      attributes.append(Attribute(Names.Attribute.checkpointBytes, .int(Int64(bytes))))
    }
    span.add(attributes)
    let time = (batch.end ?? date).forTracer
    if let end { span.says(end, at: time) }
    span.end(at: time)
  }

  private func startSpan(from start: Timestamp) -> any Tracing.Span {
    tracer.startSpan(labels.batchName, context: run.context, ofKind: .internal, at: start.forTracer)
  }
}
