import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// What the spans of all runs of a worker have in common: found once, and shared.
final class RunTracing: Sendable {
  let tracer: any Tracer
  /// The tracer, if it is Baton's. With another one no span can be discarded, and what a handler makes in a batch is a
  /// child of the run.
  let baton: BatonTracer?
  let host: HostName
  let sampling: BatchSampling
  let clocks: WorkerClocks

  init(_ tracer: any Tracer, host: HostName, sampling: BatchSampling, clocks: WorkerClocks) {
    (self.tracer, baton) = (tracer, tracer as? BatonTracer)
    (self.host, self.sampling, self.clocks) = (host, sampling, clocks)
  }

  /// The launch as the parent of a span, for another tracer than Baton's. Not what the program is in otherwise: a launch
  /// belongs to its own trace.
  func context(of assignment: Assignment) -> ServiceContext {
    var context = assignment.context
    if !(tracer is NoOpTracer) {
      tracer.extract([TraceCarrier.parent: assignment.trace.traceparent], into: &context, using: TraceCarrier())
    }
    return context
  }

  /// The span as W3C trace context has it; nil if the tracer speaks something else.
  func traceparent(of context: ServiceContext) -> String? {
    var carrier: [String: String] = [:]
    tracer.inject(context, into: &carrier, using: TraceCarrier())
    return carrier[TraceCarrier.parent]
  }
}

private struct TraceCarrier: Injector, Extractor {
  static let parent = "traceparent"

  func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
