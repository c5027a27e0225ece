import BatonModel
package import BatonTelemetry

/// Where the coordinator's spans are sent, and how often.
package struct SpanDelivery: Sendable {
  /// The resource that describes the sending process.
  package var resource: Resource
  /// How long ended spans gather before they are sent together, and how many spans one request has at most.
  package var batch: BatchLimits
  package var backoff: Backoff
  /// The wait after each round of requests while the coordinator is busy, as a multiple of the time that the
  /// coordinator spent on the round. It limits sending to a share of one core; spans that are not sent wait in the
  /// store until there is less to do.
  package var pause: Int
  /// Spans that ended longer ago than this are sent without these waits (Documentation/reference/limits.md): spans are
  /// delayed under continuous work, but not forever.
  package var latest: Duration
  /// Sends a request once, without retries.
  package var send: @Sendable (TraceRequest) async -> ExportVerdict
  /// Draws a random number for the backoff, from 0 up to but not including 1.
  package var draw: @Sendable () -> Double

  package init(
    resource: Resource, batch: BatchLimits = BatchLimits(), backoff: Backoff = Backoff(),
    pause: Int = 3, latest: Duration = .seconds(60),
    draw: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    send: @escaping @Sendable (TraceRequest) async -> ExportVerdict
  ) {
    (self.resource, self.batch, self.backoff) = (resource, batch, backoff)
    (self.draw, self.send, self.pause, self.latest) = (draw, send, pause, latest)
  }

  func isLate(_ spans: [SpanRecord], at now: Timestamp) -> Bool { spans.contains { now - $0.end > latest } }
}

extension CoordinatorSettings {
  /// Applies the telemetry settings of the environment.
  /// - Parameter sender: the sender of spans; nil if spans are not sent.
  package mutating func trace(to sender: (any OTLPSending)?, as resource: Resource, _ settings: TelemetrySettings) {
    sampler = settings.isDisabled ? Sampler(root: .never) : settings.sampler
    spans = sender.map { sender in
      SpanDelivery(resource: resource, batch: settings.batch) { await sender.send($0) }
    }
  }
}
