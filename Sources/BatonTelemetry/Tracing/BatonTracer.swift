package import BatonModel
package import ServiceContextModule
package import Tracing

/// Where finished spans go. `add` never waits.
package protocol SpanSink: Sendable {
  func add(_ span: SpanRecord)
  /// Everything that was added goes as soon as it can; does not wait for it.
  func flush()
}

/// The tracer of a worker: spans with random ids, sampled by their parent or else by the sampler, and W3C trace context
/// between processes (`BatonTracer+Propagation.swift`). Nothing in it waits.
package final class BatonTracer: Tracer {
  package typealias Span = BatonSpan

  private let sampler: Sampler
  let limits: SpanLimits
  let sink: any SpanSink
  private let draw: @Sendable () -> UInt64

  /// - Parameter draw: random numbers for the ids; a 0 is drawn again.
  package init(
    sampler: Sampler = Sampler(), limits: SpanLimits = SpanLimits(), sink: any SpanSink,
    draw: @escaping @Sendable () -> UInt64 = RandomNumbers.next
  ) {
    (self.sampler, self.limits, self.sink, self.draw) = (sampler, limits, sink, draw)
  }

  package func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: Tracing.SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> BatonSpan {
    var context = context()
    let identity = begin(
      operationName, SpanKind(kind), under: context.referred(),
      at: { Timestamp(nanoseconds: Int64(clamping: instant().nanosecondsSinceEpoch)) })
    context.spanContext = identity
    return BatonSpan(context: context, recorder: identity.recorder)
  }

  /// As `startSpan`, for a run, whose context holds nothing else.
  ///
  /// - Parameters:
  ///   - parent: of another process.
  ///   - openBatch: knows which batch is open in the span's context; left out if the span is not sampled.
  package func startRun(
    _ name: String, under parent: SpanContext, openBatch: any OpenBatch, at start: Timestamp
  ) -> BatonSpan {
    var identity = begin(name, .internal, under: parent, at: { start })
    if identity.isSampled { identity.openBatch = openBatch }
    var context = ServiceContext.topLevel
    context.spanContext = identity
    return BatonSpan(context: context, recorder: identity.recorder)
  }

  package func activeSpan(identifiedBy context: ServiceContext) -> BatonSpan? {
    guard let recorder = context.spanContext?.recorder, recorder.isOpen else { return nil }
    return BatonSpan(context: context, recorder: recorder)
  }

  package func forceFlush() { sink.flush() }

  private func begin(
    _ name: String, _ kind: SpanKind, under parent: SpanContext?, at start: () -> Timestamp
  ) -> SpanContext {
    let trace = parent?.trace ?? TraceID(high: number(), low: number())
    var identity = SpanContext(
      trace: trace, span: SpanID(number()), isSampled: sampler.samples(trace, parentIsSampled: parent?.isSampled),
      traceState: parent?.traceState ?? "", isRemote: false)
    if identity.isSampled {
      let draft = SpanDraft(name: name, kind: kind, start: start(), limits: limits)
      identity.recorder = SpanRecorder(draft, identity, parent: parent, tracer: self)
    }
    return identity
  }

  private func number() -> UInt64 {
    var number = draw()
    while number == 0 { number = draw() }
    return number
  }
}
