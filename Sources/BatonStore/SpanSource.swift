package import BatonModel

/// Which spans of a request ended together. The store keeps such a group of spans as one row, called an occasion. The
/// numbers are part of the schema: never change one.
package struct SpanParts: OptionSet, Hashable, Sendable {
  package var rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// The request was accepted.
  package static let submit = SpanParts(rawValue: 1)
  /// A launch started, which ended the wait before it.
  package static let wait = SpanParts(rawValue: 2)
  /// A launch ended. If it was asked to stop, its expiry span ended too.
  package static let launch = SpanParts(rawValue: 4)
  /// The request ended.
  package static let complete = SpanParts(rawValue: 8)
  /// The request was cancelled, or was failed because of its definition, while it was ready and waited for a host.
  package static let vainWait = SpanParts(rawValue: 16)
  /// A transfer ended. It is an occasion of its own.
  package static let transfer = SpanParts(rawValue: 32)
}

/// Identifies the spans of one occasion. The key never changes, so a backend that gets a span twice can recognize it.
package struct SpanKey: Hashable, Sendable {
  package var request: RequestID
  /// The number of launches that the request had at that time, including the one that the occasion is about. For a
  /// transfer it is the number of the transfer.
  package var launch: Int
  package var parts: SpanParts
}

/// What the store knows about the spans of one occasion. The values do not change after the spans have ended, so a span
/// has the same content however often it is sent (promise P9).
package struct SpanSource: Hashable, Sendable {
  package var key: SpanKey
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var number: Int
  package var definition: Definition
  /// The trace id of the request and the id of its `submit` span.
  package var trace: TraceContext
  /// The id of the span in which the client submitted the request; `nil` if there was none.
  package var parentSpanID: SpanID?
  package var submittedAt: Timestamp
  /// The number of the shard within its request; 0 for a request that was not divided.
  package var shard = 0
  /// Whether the request was divided into shards.
  package var isSpread = false
  /// Whether the request is a member of a flow.
  package var isInFlow = false
  /// Launch number `key.launch`; `nil` if there is no such launch.
  package var launch: Launch?
  /// How the request ended; set if `key.parts` contains `complete`.
  package var completion: Completion?
  /// The wait that no launch has ended: the request is still in it, or ended in it.
  package var wait: Wait?
  /// The pokes and submissions that joined the request before its first launch; filled only if `tellsJoined` is true.
  package var joined = JoinedSubmissions()
  /// The `submit` spans of the requests of its flow that the request has waited for; filled only if `tellsJoined` is
  /// true.
  package var awaited: [TraceContext] = []
  /// How the transfer with the number `key.launch` ended; set if `key.parts` is `transfer`.
  package var transfer: EndedTransfer?
  /// The transfers whose ends no launch had been told of before this one: they started it.
  package var startedBy: [TransferSpanMark] = []
  /// Events that were noted while the launch was open.
  package var launchEvents: [EventRecord] = []
  /// Events that were noted during the wait before the launch, or during the wait that no launch ended.
  package var waitEvents: [EventRecord] = []

  /// Whether this occasion's spans report what joined the request. This is the case for the request's first launch, or
  /// for its end if it was never launched. A member of a flow can wait again after such an end, and more can join it.
  package var tellsJoined: Bool {
    key.parts.contains(.launch) ? key.launch == 1 : key.parts.contains(.complete) && key.launch == 0 && !isInFlow
  }

  /// A wait for a host: from when the request became ready until a launch started or the request ended.
  package struct Wait: Hashable, Sendable {
    package var readyAt: Timestamp
    /// The code of the obstacle that kept the request from being ready before; `nil` if there was none.
    package var heldBy: String?
    package var obstacles = WaitObstacles()
  }

  /// One launch, as its span needs it.
  package struct Launch: Hashable, Sendable {
    package var record: LaunchRecord
    /// The wait that the launch ended; `nil` if the launch started as soon as the request was submitted.
    package var wait: Wait?
    package var errorType: String?
    /// The span id of the launch before this one.
    package var previousSpanID: SpanID?

    package init(record: LaunchRecord, wait: Wait? = nil, errorType: String? = nil, previousSpanID: SpanID? = nil) {
      (self.record, self.wait, self.errorType, self.previousSpanID) = (record, wait, errorType, previousSpanID)
    }
  }

  /// A transfer that has ended, as its span needs it.
  package struct EndedTransfer: Hashable, Sendable {
    package var transfer: Transfer
    package var status: TransferStatus
    /// The host that had the transfer when it ended.
    package var host: HostName

    package init(_ transfer: Transfer, _ status: TransferStatus, on host: HostName) {
      (self.transfer, self.status, self.host) = (transfer, status, host)
    }
  }

  /// What the id of a transfer's span is made of.
  package struct TransferSpanMark: Hashable, Sendable {
    package var number: Int
    package var orderedAt: Timestamp

    package init(number: Int, orderedAt: Timestamp) { (self.number, self.orderedAt) = (number, orderedAt) }
  }

  /// The most transfers to which one launch is linked: OpenTelemetry's default limit for the links of a span.
  package static let mostLinkedTransfers = 128

  /// How and when a request ended.
  package struct Completion: Hashable, Sendable {
    package var state: RequestState
    package var reason: String?
    package var at: Timestamp
    /// How many shards the request had; `nil` if it was not divided.
    package var shards: Int?

    package init(state: RequestState, reason: String?, at: Timestamp, shards: Int? = nil) {
      (self.state, self.reason, self.at, self.shards) = (state, reason, at, shards)
    }
  }
}

/// How many spans wait to be sent, and how many a backend rejected.
package struct SpanQueueRecord: Hashable, Sendable {
  /// Occasions that are not confirmed yet. Each has one to three spans.
  package var unsent: Int
  package var rejected: Int
  /// What the backend answered to the last spans that it rejected.
  package var lastRejection: String?

  package init(unsent: Int = 0, rejected: Int = 0, lastRejection: String? = nil) {
    (self.unsent, self.rejected, self.lastRejection) = (unsent, rejected, lastRejection)
  }
}

/// The pokes that a request stands for, and the submissions that joined or replaced it. Only the last ones of each
/// request are kept (`limit`).
package struct JoinedSubmissions: Hashable, Sendable {
  /// The ids that clients gave to the pokes, in the order of their arrival.
  package var pokes: [String] = []
  /// The spans of the clients that submitted or poked, each once.
  package var spans: [TraceContext] = []
  /// How many earlier pokes and submissions were dropped.
  package var dropped = 0

  package init(pokes: [String] = [], spans: [TraceContext] = [], dropped: Int = 0) {
    (self.pokes, self.spans, self.dropped) = (pokes, spans, dropped)
  }

  /// The number of pokes and submissions that are kept of each request. OpenTelemetry has the same default limit for
  /// the links of a span (https://opentelemetry.io/docs/specs/otel/trace/sdk/#span-limits).
  package static let limit = 128
}
