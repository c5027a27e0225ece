package import BatonModel
package import ServiceContextModule
package import Tracing

extension Tracing.Span {
  /// Adds attributes to the span. Adding several in one call is cheaper, because each change copies all attributes of
  /// the span.
  package func add(_ attributes: [Attribute]) {
    if let span = self as? BatonSpan { return span.add(attributes) }
    updateAttributes { old in
      for attribute in attributes { old.set(attribute.key, value: attribute.value.forTracing) }
    }
  }

  /// Adds attributes to the span and ends it.
  package func end(at time: Timestamp, adding attributes: [Attribute]) {
    if let span = self as? BatonSpan { return span.end(at: time, adding: attributes) }
    add(attributes)
    end(at: time.forTracing)
  }
}

/// A span of `BatonTracer`. A span that is not sampled records nothing, and costs only its context.
package struct BatonSpan: Tracing.Span {
  package let context: ServiceContext
  /// What records the span; `nil` if the span is not sampled.
  let recorder: SpanRecorder?

  package var isRecording: Bool { recorder?.isOpen ?? false }

  package var operationName: String {
    get { recorder?.name ?? "" }
    nonmutating set { recorder?.change { $0.name = newValue } }
  }

  package var attributes: SpanAttributes {
    get { recorder?.attributes ?? [:] }
    nonmutating set { recorder?.change { $0.set(newValue) } }
  }

  fileprivate func add(_ attributes: [Attribute]) { recorder?.change { $0.add(attributes) } }

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

  /// Ends the span. Further calls do nothing.
  package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    recorder?.end(at: Timestamp(nanoseconds: Int64(clamping: instant().nanosecondsSinceEpoch)))
  }

  fileprivate func end(at time: Timestamp, adding attributes: [Attribute]) {
    recorder?.end(at: time, adding: attributes)
  }

  /// Ends the span without sending it. A worker decides only at the end of a batch whether the batch's span is sent.
  ///
  /// - Returns: true if nothing of the span will be sent. False if a child, a link or a `traceparent` for another
  ///   process refers to the span: the span is then still open, and the caller has to end it. False too if the span has
  ///   ended already.
  package func discard() -> Bool { recorder?.discard() ?? true }
}
