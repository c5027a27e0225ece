package import BatonModel

/// Which spans of a request ended at one occasion. The numbers stand in the database: never change one.
package struct SpanParts: OptionSet, Hashable, Sendable {
  package var rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// It was accepted.
  package static let submit = SpanParts(rawValue: 1)
  /// A launch started, and its wait was over.
  package static let wait = SpanParts(rawValue: 2)
  /// A launch ended, with its expiry if it was asked to stop.
  package static let launch = SpanParts(rawValue: 4)
  /// The request ended.
  package static let complete = SpanParts(rawValue: 8)
  /// It was cancelled while it waited for a host.
  package static let vainWait = SpanParts(rawValue: 16)
}

/// Names the spans of one occasion: the same for ever, so that a span that is sent twice is one span.
package struct SpanKey: Hashable, Sendable {
  package var request: RequestID
  /// How many launches the request had by then, this one included.
  package var launch: Int
  package var parts: SpanParts

  package init(request: RequestID, launch: Int, parts: SpanParts) {
    (self.request, self.launch, self.parts) = (request, launch, parts)
  }
}

/// What the store has of the spans of one occasion. Once they have ended, it never changes.
package struct SpanSource: Hashable, Sendable {
  package var key: SpanKey
  package var identifier: JobIdentifier
  /// The request's number within its identifier.
  package var number: Int
  package var definition: Definition
  /// The ids of its `submit` span.
  package var trace: TraceContext
  /// The submitter's span.
  package var parentSpanID: [UInt8]?
  package var submittedAt: Timestamp
  /// Launch `key.launch`; nil if there is none.
  package var launch: Launch?
  /// If `key.parts` has `complete`.
  package var completion: Completion?
  /// The wait that it is in, or was in when it was cancelled.
  package var wait: Wait?
  /// What joined the request before its first launch; set where a span says it.
  package var joined = JoinedSubmissions()
  /// What was noted while the launch was open.
  package var launchEvents: [EventRecord] = []
  /// What was noted while the launch was waited for, or in the wait that no launch ended.
  package var waitEvents: [EventRecord] = []

  /// True for the spans that say what joined the request: its first launch, or its end if there was no launch.
  package var tellsJoined: Bool {
    key.parts.contains(.launch) ? key.launch == 1 : key.parts.contains(.complete) && key.launch == 0
  }

  package struct Wait: Hashable, Sendable {
    package var readyAt: Timestamp
    /// Code of the obstacle that it waited for before.
    package var heldBy: String?
    package var obstacles: WaitObstacles

    package init(readyAt: Timestamp, heldBy: String? = nil, obstacles: WaitObstacles = WaitObstacles()) {
      (self.readyAt, self.heldBy, self.obstacles) = (readyAt, heldBy, obstacles)
    }
  }

  package struct Launch: Hashable, Sendable {
    package var record: LaunchRecord
    /// Nil if it was started as soon as it was submitted.
    package var wait: Wait?
    package var errorType: String?
    /// Of the launch before.
    package var previousSpanID: [UInt8]?

    package init(record: LaunchRecord, wait: Wait? = nil, errorType: String? = nil, previousSpanID: [UInt8]? = nil) {
      (self.record, self.wait, self.errorType, self.previousSpanID) = (record, wait, errorType, previousSpanID)
    }
  }

  package struct Completion: Hashable, Sendable {
    package var state: RequestState
    package var reason: String?
    package var at: Timestamp

    package init(state: RequestState, reason: String?, at: Timestamp) {
      (self.state, self.reason, self.at) = (state, reason, at)
    }
  }

  package init(
    key: SpanKey, identifier: JobIdentifier, number: Int, definition: Definition, trace: TraceContext,
    parentSpanID: [UInt8]?, submittedAt: Timestamp
  ) {
    (self.key, self.identifier, self.number, self.definition) = (key, identifier, number, definition)
    (self.trace, self.parentSpanID, self.submittedAt) = (trace, parentSpanID, submittedAt)
  }
}

/// How many spans wait to be sent, and how many a backend refused.
package struct SpanQueueRecord: Hashable, Sendable {
  /// Occasions, each with one to three spans.
  package var unsent: Int
  package var rejected: Int
  /// What the backend said of the last one that it refused.
  package var lastRejection: String?

  package init(unsent: Int = 0, rejected: Int = 0, lastRejection: String? = nil) {
    (self.unsent, self.rejected, self.lastRejection) = (unsent, rejected, lastRejection)
  }
}

/// The pokes that a request stands for, and the submissions that joined or replaced it: the last ones of each request.
package struct JoinedSubmissions: Hashable, Sendable {
  /// The clients' ids of the pokes, in the order in which they came.
  package var pokes: [String] = []
  /// The submitters' spans, each once.
  package var spans: [TraceContext] = []
  /// How many were before those that are kept.
  package var dropped = 0

  package init(pokes: [String] = [], spans: [TraceContext] = [], dropped: Int = 0) {
    (self.pokes, self.spans, self.dropped) = (pokes, spans, dropped)
  }

  /// So many are kept of each request, as OpenTelemetry keeps links of a span
  /// (https://opentelemetry.io/docs/specs/otel/trace/sdk/#span-limits).
  package static let limit = 128
}
