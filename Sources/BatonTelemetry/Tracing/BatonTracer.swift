import BatonBase
package import BatonModel
package import ServiceContextModule
package import Tracing

/// A destination for finished spans.
package protocol SpanSink: Sendable {
  /// Takes a finished span. It returns at once, and never waits for I/O.
  func add(_ span: SpanRecord)
  /// Asks to send everything that was added as soon as possible, and returns without waiting for it.
  func flush()
}

/// The tracer of a worker. Its spans have random ids and are sampled as their parent is, or by the sampler if they have
/// no parent. Between processes it propagates W3C Trace Context (`BatonTracer+Propagation.swift`). None of its
/// functions waits.
package final class BatonTracer: Tracer {
  package typealias Span = BatonSpan

  private let sampler: Sampler
  let limits: SpanLimits
  let sink: any SpanSink
  private let draw: @Sendable () -> UInt64

  /// - Parameter draw: returns random numbers for the ids. A 0 is replaced by another number.
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

  /// Starts the span of a run, like `startSpan`. The new context contains nothing but the span.
  ///
  /// - Parameters:
  ///   - parent: the launch span. It counts as a span of another process.
  ///   - openBatch: knows the batch that is open in the run, so that spans made in the run's context become children of
  ///     that batch. It is not used if the span is not sampled.
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
