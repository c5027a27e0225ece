/// What bounds a `BatchQueue`. Defaults: the batch span processor of the OpenTelemetry specification.
package struct BatchLimits: Hashable, Sendable {
  /// Spans that wait or are on their way, at most.
  package var queue: Int
  /// Spans in one request, at most.
  package var batch: Int
  /// The longest that a span waits before its batch goes.
  package var delay: Duration

  /// A batch is never larger than the queue, and both are at least 1.
  package init(queue: Int = 2048, batch: Int = 512, delay: Duration = .seconds(5)) {
    self.queue = max(1, queue)
    self.batch = min(max(1, batch), self.queue)
    self.delay = max(.zero, delay)
  }
}
