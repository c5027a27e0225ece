internal import BatonModel
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
  private let limits: SpanLimits
  private let sink: any SpanSink
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
    let parent = context.referred()
    var identity = identity(under: parent)
    if identity.isSampled {
      let start = Timestamp(nanoseconds: Int64(clamping: instant().nanosecondsSinceEpoch))
      let draft = SpanDraft(name: operationName, kind: SpanKind(kind), start: start, limits: limits)
      identity.recorder = SpanRecorder(draft, parent: parent)
    }
    context.spanContext = identity
    return BatonSpan(context, identity, to: sink)
  }

  package func activeSpan(identifiedBy context: ServiceContext) -> BatonSpan? {
    guard let identity = context.spanContext, identity.recorder?.isOpen == true else { return nil }
    return BatonSpan(context, identity, to: sink)
  }

  package func forceFlush() { sink.flush() }

  private func identity(under parent: SpanContext?) -> SpanContext {
    let trace = parent?.trace ?? TraceID(high: number(), low: number())
    return SpanContext(
      trace: trace, span: SpanID(number()), isSampled: sampler.samples(trace, parentIsSampled: parent?.isSampled),
      traceState: parent?.traceState ?? "", isRemote: false)
  }

  private func number() -> UInt64 {
    var number = draw()
    while number == 0 { number = draw() }
    return number
  }
}
