/// What somebody asks for: run this job.
package struct Submission: Hashable, Sendable {
  /// Drawn by the client and the same in every retry of one submission; at most 64 bytes.
  package var id: String
  package var identifier: JobIdentifier
  package var payload: [UInt8]?
  /// Overrides the definition's.
  package var earliestBeginDate: EarliestBeginDate?
  package var priority: Priority?
  package var principal: String
  /// The request's trace: the ids of its `submit` span.
  package var trace: TraceContext
  /// The submitter's span, if it had one.
  package var parentSpanID: [UInt8]?
  /// Set if this is a poke: it asks for a launch as soon as the spacing of pokes allows one, and joins the request that
  /// waits already.
  package var poke: PokePriority?

  /// Largest payload, in bytes.
  package static let maximumPayloadBytes = 64 << 10

  package init(
    id: String, identifier: JobIdentifier, payload: [UInt8]? = nil, earliestBeginDate: EarliestBeginDate? = nil,
    priority: Priority? = nil, principal: String = "", trace: TraceContext, parentSpanID: [UInt8]? = nil,
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

/// How much a poke may disturb: the two priorities of a push notification (contract, row 41).
package enum PokePriority: Int, Hashable, Sendable, CaseIterable {
  /// Spaced, so that many pokes start few launches.
  case considerate = 5
  /// Goes at once, whatever the spacing; recorded with who asked for it.
  case immediate = 10
}

/// Why a submission was not accepted: Apple's four errors (contract, row 5).
package enum Refusal: Hashable, Sendable {
  case notPermitted(JobIdentifier, nearest: String?)
  /// What is defined for the identifier cannot be run: the stored definition breaks a rule, or the part of the identifier
  /// that the `*` matched would become an option of the command. Told as `notPermitted`.
  case unusable(JobIdentifier, DefinitionProblem)
  case tooManyPending(limit: String, allowed: Int, pending: Int)
  case unavailable(String)
  /// Every obstacle, by host; the fleet's own have no host.
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
