import BatonModel
package import BatonTelemetry

/// Where the coordinator's spans go, and how often.
package struct SpanDelivery: Sendable {
  /// Of the process that sends them.
  package var resource: Resource
  /// How long ended spans gather before they are sent together, and how many at most go in one request.
  package var batch: BatchLimits
  package var backoff: Backoff
  /// While work goes on, the wait after each request, in times what that took: sending takes a part of one core only,
  /// and what is not sent waits in the store until there is less to do.
  package var pause: Int
  /// Spans that ended longer ago than this are sent without such waits (Documentation/reference/limits.md): work
  /// without end makes spans late, and does not leave them behind.
  package var latest: Duration
  /// Tries once.
  package var send: @Sendable (TraceRequest) async -> ExportVerdict
  /// Drawn for the backoff, from 0 up to 1.
  package var draw: @Sendable () -> Double

  package init(
    resource: Resource, batch: BatchLimits = BatchLimits(), backoff: Backoff = Backoff(),
    pause: Int = 49, latest: Duration = .seconds(60),
    draw: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    send: @escaping @Sendable (TraceRequest) async -> ExportVerdict
  ) {
    (self.resource, self.batch, self.backoff) = (resource, batch, backoff)
    (self.draw, self.send, self.pause, self.latest) = (draw, send, pause, latest)
  }

  func isLate(_ spans: [SpanRecord], at now: Timestamp) -> Bool { spans.contains { now - $0.end > latest } }
}

extension CoordinatorSettings {
  /// What the environment's variables want.
  /// - Parameter sender: nil if spans go nowhere.
  package mutating func trace(to sender: (any OTLPSending)?, as resource: Resource, _ settings: TelemetrySettings) {
    sampler = settings.isDisabled ? Sampler(root: .never) : settings.sampler
    spans = sender.map { sender in
      SpanDelivery(resource: resource, batch: settings.batch) { await sender.send($0) }
    }
  }
}
