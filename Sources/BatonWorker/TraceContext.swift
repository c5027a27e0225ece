internal import BatonTelemetry
public import ServiceContextModule
internal import Tracing

extension ServiceContext {
  /// The span of this context in the form of W3C trace context, for another program that is to make its spans children
  /// of this one; `nil` if the context has no span. In a handler, `ServiceContext.current` is the context of its batch,
  /// with any tracer; without a tracer it has the launch.
  ///
  /// ```swift
  /// if let traceparent = ServiceContext.current?.traceparent {
  ///   try await ask("https://example.com/prices", headers: ["traceparent": traceparent])
  /// }
  /// ```
  ///
  /// The sample is from `Examples/Worker/Samples.swift`.
  ///
  /// `JobSubmission.traceparent` of BatonClient takes it too. An instrumented HTTP client writes the header by itself.
  /// A batch whose span was passed on is sent, also if it would not have been chosen.
  public var traceparent: String? {
    var carrier: [String: String] = [:]
    InstrumentationSystem.tracer.inject(self, into: &carrier, using: TraceCarrier())
    // Without a tracer the context has the launch.
    return carrier[TraceCarrier.parent] ?? spanContext?.traceContext.traceparent
  }
}
