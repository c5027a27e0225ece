import BatonBase
import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// What the spans of all runs of a worker share. The worker makes it once.
final class RunTracing: Sendable {
  let tracer: any Tracer
  /// The tracer, if it is Baton's own; otherwise `nil`. With another tracer a span cannot be discarded, and spans that
  /// a handler starts in a batch become children of the run.
  let baton: BatonTracer?
  let host: HostName
  let sampling: BatchSampling
  let clocks: Clocks

  init(_ tracer: any Tracer, host: HostName, sampling: BatchSampling, clocks: Clocks) {
    (self.tracer, baton) = (tracer, tracer as? BatonTracer)
    (self.host, self.sampling, self.clocks) = (host, sampling, clocks)
  }

  /// The launch as the parent of a span, for tracers other than Baton's. The context does not inherit from the
  /// program's current context, because a launch has its own trace.
  func context(of assignment: Assignment) -> ServiceContext {
    var context = assignment.context
    if !(tracer is NoOpTracer) {
      tracer.extract([TraceCarrier.parent: assignment.trace.traceparent], into: &context, using: TraceCarrier())
    }
    return context
  }

  /// The span of `context` in the form of W3C trace context; `nil` if the tracer uses another format.
  func traceparent(of context: ServiceContext) -> String? {
    var carrier: [String: String] = [:]
    tracer.inject(context, into: &carrier, using: TraceCarrier())
    return carrier[TraceCarrier.parent]
  }
}

/// The fields of W3C trace context in a dictionary.
struct TraceCarrier: Injector, Extractor {
  static let parent = "traceparent"

  func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
