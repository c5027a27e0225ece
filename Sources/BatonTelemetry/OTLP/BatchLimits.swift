/// The limits of a `BatchQueue`. The defaults are those of the batch span processor of the OpenTelemetry specification.
package struct BatchLimits: Hashable, Sendable {
  /// The largest number of spans that the queue holds, including the spans of the batch that is being sent.
  package var queue: Int
  /// The largest number of spans in one request.
  package var batch: Int
  /// The longest time that a span waits in the queue before its batch is sent.
  package var delay: Duration

  /// Creates limits and brings them into range: `queue` and `batch` are at least 1, and `batch` is at most `queue`.
  package init(queue: Int = 2048, batch: Int = 512, delay: Duration = .seconds(5)) {
    self.queue = max(1, queue)
    self.batch = min(max(1, batch), self.queue)
    self.delay = max(.zero, delay)
  }
}
