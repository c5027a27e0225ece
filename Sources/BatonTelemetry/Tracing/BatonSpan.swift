internal import BatonModel
package import ServiceContextModule
package import Tracing

/// A span that need not be sent: a worker decides about a batch only when it ends.
package protocol DiscardableSpan: Tracing.Span {
  /// Ends the span without sending it.
  ///
  /// - Returns: false if it is still open and has to be ended, because something was made from its context: a child, a
  ///   link, or a `traceparent` for another process. False too if it has ended already.
  func discard() -> Bool
}

extension Tracing.Span {
  /// Ends the span, without sending it where the tracer can do that and nothing refers to it.
  package func discardOrEnd(at instant: @autoclosure () -> some TracerInstant = DefaultTracerClock.now) {
    if (self as? any DiscardableSpan)?.discard() != true { end(at: instant()) }
  }
}

extension Tracing.Span {
  /// Says so much more of the span, all at once: each change of a span's attributes copies them.
  package func add(_ attributes: [Attribute]) {
    if let span = self as? BatonSpan { return span.take(attributes) }
    updateAttributes { old in
      for attribute in attributes { old.set(attribute.key, value: attribute.value.forTracing) }
    }
  }
}

/// A span of `BatonTracer`. One that is not sampled records nothing and costs nothing but its context.
package final class BatonSpan: DiscardableSpan {
  package let context: ServiceContext
  private let identity: SpanContext
  private let recorder: SpanRecorder?
  private let sink: any SpanSink

  /// - Parameter context: already with `identity`.
  init(_ context: ServiceContext, _ identity: SpanContext, to sink: any SpanSink) {
    (self.context, self.identity, self.recorder, self.sink) = (context, identity, identity.recorder, sink)
  }

  package var isRecording: Bool { recorder?.isOpen ?? false }

  package var operationName: String {
    get { recorder?.name ?? "" }
    set { recorder?.change { $0.name = newValue } }
  }

  package var attributes: SpanAttributes {
    get { recorder?.attributes ?? [:] }
    set { recorder?.change { $0.set(newValue) } }
  }

  fileprivate func take(_ attributes: [Attribute]) { recorder?.change { $0.add(attributes) } }

  package func setStatus(_ status: Tracing.SpanStatus) { recorder?.change { $0.set(status) } }

  package func addEvent(_ event: Tracing.SpanEvent) { recorder?.change { $0.add(event) } }

  package func addLink(_ link: Tracing.SpanLink) {
    guard let recorder, let linked = link.context.spanContext?.referred() else { return }
    let record = SpanLink(to: linked, link.attributes, within: recorder.limits)
    recorder.change { $0.add(record) }
  }

  package func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    guard let recorder else { return }
    let type = recorder.limits.clipped(String(describing: Swift.type(of: error)))
    let event = Tracing.SpanEvent(exception: error, type, attributes, at: instant())
    recorder.change { $0.add(event, failure: type) }
  }

  /// The second end of a span does nothing.
  package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    guard let recorder else { return }
    let time = Timestamp(nanoseconds: Int64(clamping: instant().nanosecondsSinceEpoch))
    if let record = recorder.end(identity, at: time) { sink.add(record) }
  }

  package func discard() -> Bool { recorder?.discard() ?? true }
}
