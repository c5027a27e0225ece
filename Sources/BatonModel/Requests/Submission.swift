/// A client's wish to run a job.
package struct Submission: Hashable, Sendable {
  /// The id that the client draws for this submission, and repeats in every retry of it; at most 64 bytes.
  package var id: String
  package var identifier: JobIdentifier
  package var payload: [UInt8]?
  /// Replaces the definition's earliest begin date; `nil` leaves it as it is.
  package var earliestBeginDate: EarliestBeginDate?
  package var priority: Priority?
  package var principal: String
  /// The trace of the request, with the span id of its `submit` span.
  package var trace: TraceContext
  /// The span of the submitter; `nil` if the submitter had no span.
  package var parentSpanID: SpanID?
  /// The priority of a poke; `nil` if this is no poke. A poke asks for a launch as soon as the spacing of pokes allows
  /// it. If a request of the identifier already waits, the poke joins that request.
  package var poke: PokePriority?

  /// The largest payload, in bytes.
  package static let maximumPayloadBytes = 64 << 10

  package init(
    id: String, identifier: JobIdentifier, payload: [UInt8]? = nil, earliestBeginDate: EarliestBeginDate? = nil,
    priority: Priority? = nil, principal: String = "", trace: TraceContext, parentSpanID: SpanID? = nil,
    poke: PokePriority? = nil
  ) {
    self.id = id
    self.identifier = identifier
    self.payload = payload
    self.earliestBeginDate = earliestBeginDate
    self.priority = priority
    self.principal = principal
    self.trace = trace
    self.parentSpanID = parentSpanID
    self.poke = poke
  }
}

/// How much a poke may disturb. The raw values are the two priorities of Apple's push notifications (contract, row 41).
package enum PokePriority: Int, Hashable, Sendable, CaseIterable {
  /// The launch waits for the spacing of pokes, so that many pokes start few launches.
  case considerate = 5
  /// The launch starts without regard to the spacing. The store records who asked for it.
  case immediate = 10
}

/// Why a submission was not accepted. The codes are Apple's four errors (contract, row 5).
package enum Refusal: Hashable, Sendable {
  case notPermitted(JobIdentifier, nearest: String?)
  /// The definition of the identifier cannot be run: the stored definition breaks a rule, or the part of the identifier
  /// that the `*` matches would become an option of the command. The code is that of `notPermitted`.
  case unusable(JobIdentifier, DefinitionProblem)
  case tooManyPending(limit: String, allowed: Int, pending: Int)
  case unavailable(String)
  /// Every obstacle, host by host. The obstacles of the request and of the fleet have no host.
  case immediateRunIneligible([HostObstacle])

  package var code: String { kind.rawValue }
}

package struct HostObstacle: Hashable, Sendable {
  package var host: HostName?
  package var obstacle: Obstacle

  package init(host: HostName?, obstacle: Obstacle) {
    self.host = host
    self.obstacle = obstacle
  }
}
