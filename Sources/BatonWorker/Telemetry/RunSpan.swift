import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// The span of one run of a handler, and through it those of its batches.
///
/// Made with the process's tracer, whichever that is. Where there is none, or the request is not sampled, nothing is
/// recorded, and it costs no more than a context.
final class RunSpan: Sendable {
  /// What the handler runs in: spans that it makes are children of its batch, log lines that it writes have the trace.
  let context: ServiceContext
  /// Nil if nothing is recorded.
  let batches: BatchSpans?
  private let span: any Tracing.Span
  private let labels: LaunchLabels
  private let clocks: WorkerClocks

  init(
    _ assignment: Assignment, _ definition: Definition, host: HostName, sampling: BatchSampling, clocks: WorkerClocks,
    tracer: any Tracer
  ) {
    labels = LaunchLabels(assignment, definition, host: host)
    span = tracer.startSpan(
      labels.runName, context: tracer.context(of: assignment), ofKind: .internal, at: clocks.date().forTracer)
    self.clocks = clocks
    guard span.isRecording else {
      (batches, context) = (nil, span.context)
      return
    }
    let sampler = BatchSampler(
      sampling, seed: TraceID(of: assignment.trace).low, firstBatch: assignment.progress.batches,
      repeatsBatch: assignment.repeatsBatch)
    let batches = BatchSpans(of: span, labels, sampler, tracer: tracer, clocks: clocks)
    (self.batches, context) = (batches, batches.context)
  }

  /// `runtime`, with its batches told to their spans.
  func traced(_ runtime: any CommandRuntime) -> any CommandRuntime {
    guard let batches else { return runtime }
    return TracedRuntime(runtime: runtime, batches: batches)
  }

  func end(_ end: RunEnd) {
    guard let batches else { return span.end() }
    batches.end(end)
    let time = clocks.date().forTracer
    span.add(labels.attributes(ofRun: end, batches: batches.committed))
    span.says(end, at: time)
    span.end(at: time)
  }
}

extension Tracer {
  /// The launch as the parent of a span. Not what the program is in otherwise: a launch belongs to its own trace.
  fileprivate func context(of assignment: Assignment) -> ServiceContext {
    var context = assignment.context
    // Baton's has it from there.
    if !(self is BatonTracer), !(self is NoOpTracer) {
      extract([TraceCarrier.parent: assignment.trace.traceparent], into: &context, using: TraceCarrier())
    }
    return context
  }

  /// The span as W3C trace context has it; nil if the tracer speaks something else.
  func traceparent(of context: ServiceContext) -> String? {
    var carrier: [String: String] = [:]
    inject(context, into: &carrier, using: TraceCarrier())
    return carrier[TraceCarrier.parent]
  }
}

private struct TraceCarrier: Injector, Extractor {
  static let parent = "traceparent"

  func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
