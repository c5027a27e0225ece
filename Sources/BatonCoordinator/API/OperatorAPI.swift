package import BatonModel
package import BatonStore
package import BatonTelemetry

/// What operators can ask of a coordinator: the one in this process, or one reached over gRPC. Errors are
/// `OperatorError`, or `CoordinatorUnreachable`.
package protocol OperatorAPI: Sendable {
  func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition]
  func remove(_ pattern: IdentifierPattern) async throws
  /// Answers in the same order; one refusal disturbs no other.
  func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult]
  /// - Parameters:
  ///   - number: exactly this request.
  ///   - choice: which one is meant if there is no number.
  func details(_ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice) async throws -> RequestDetails
  func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) async throws -> [RequestRecord]
  /// Calls `body` with the request now, and again after every change, until it has ended.
  func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws
  /// Calls `body` with what the launches wrote: of one launch, or of all in order.
  /// - Parameter follows: goes on with new output until the request has ended.
  func logs(
    _ identifier: JobIdentifier, number: Int?, launch: Int?, follows: Bool,
    _ body: @escaping @Sendable (_ launch: Int, _ bytes: [UInt8]) async throws -> Void
  ) async throws
  func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation]
  /// Lets a failed request go on at its checkpoint: without a number the last that was launched.
  /// - Parameter withNewDefinition: under the definition that is applied for its identifier now; refused (`.conflict`) if
  ///   that has other items or another batch size, or is the one that the request has already.
  func retry(
    _ identifier: JobIdentifier, number: Int?, skippingBatch: Bool, withNewDefinition: Bool
  ) async throws -> RequestRecord
  /// Gives a pending request the definition that is applied for its identifier now; refused as in `retry`, and while it
  /// runs.
  func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord
  func setDraining(_ host: HostName, _ isDraining: Bool) async throws
  /// Releases the name of a host: the next worker that says it is taken, whatever its secret. For a host that was
  /// installed again.
  func forget(_ host: HostName) async throws
  func setPaused(_ isPaused: Bool) async throws
  func hostReports() async throws -> [HostReport]
  func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation
  /// The trace of a request, from the store alone, whether or not it is sampled or exported.
  func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace
  /// Moves launches of a definition, or of one instance of a wildcard, away from a host and keeps them away, or takes
  /// that back. Answers the hosts.
  /// - Parameter hosts: none means where something of it runs now; or, to take it back, every host.
  func setEvicted(_ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool) async throws -> [HostName]
  /// Starts a pending request now, whatever its times and the conditions of its host.
  func simulateLaunch(_ identifier: JobIdentifier, number: Int?, on host: HostName?) async throws -> SimulatedLaunch
  /// Expires the running launch as if for `reason`, or for no reason.
  func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch
  /// Puts conditions in the place of a host's real ones for a while; none at all takes them back.
  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) async throws
  /// Writes a copy of the store to a new file on the coordinator's machine, while it is in use.
  /// - Parameters:
  ///   - path: absolute, on the coordinator's machine.
  ///   - report: called now and then with how far it is; it must not wait.
  func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary
}

extension OperatorAPI {
  /// - Parameter number: nil means the live request, else the waiting one, else the last to end.
  package func details(_ identifier: JobIdentifier, number: Int?) async throws -> RequestDetails {
    try await details(identifier, number: number, choosing: .current)
  }
}

/// Which request of an identifier is meant where no number is given.
package enum RequestChoice: Hashable, Sendable, CaseIterable {
  /// The live one, else the one that waits for its first launch, else the last to end.
  case current
  /// The live one, else the last that was launched, else the one that waits.
  case ran
  /// As `ran` where the definition repeats and the next request is not due yet, else as `current`.
  case ranIfRepeating
}

/// A launch that `baton simulate` started or asked to stop.
package struct SimulatedLaunch: Hashable, Sendable {
  package var identifier: JobIdentifier
  package var number: Int
  package var launch: Int
  package var host: HostName

  package init(identifier: JobIdentifier, number: Int, launch: Int, host: HostName) {
    self.identifier = identifier
    self.number = number
    self.launch = launch
    self.host = host
  }
}

/// One submission, as a client asks for it.
package struct SubmissionOrder: Hashable, Sendable {
  /// Drawn by the client, and the same in every retry of this submission.
  package var id: String
  package var identifier: JobIdentifier
  package var payload: [UInt8]?
  package var earliestBeginDate: EarliestBeginDate?
  package var priority: Priority?
  /// Set if this is a poke.
  package var poke: PokePriority?
  /// The submitter's span: the request's trace becomes a part of its trace.
  package var parent: TraceContext?

  package init(
    id: String, identifier: JobIdentifier, payload: [UInt8]? = nil, earliestBeginDate: EarliestBeginDate? = nil,
    priority: Priority? = nil, poke: PokePriority? = nil, parent: TraceContext? = nil
  ) {
    self.parent = parent
    self.id = id
    self.identifier = identifier
    self.payload = payload
    self.earliestBeginDate = earliestBeginDate
    self.priority = priority
    self.poke = poke
  }
}

package enum SubmissionResult: Hashable, Sendable {
  /// `warning` says why no known host could run it now, if that is so.
  case accepted(SubmissionReceipt, traceID: String, warning: String?)
  /// One of Apple's four codes, and what to do about it.
  case refused(code: String, message: String)
}

package struct RequestDetails: Hashable, Sendable {
  package var record: RequestRecord
  package var launches: [LaunchRecord]
  package var events: [EventRecord]
  /// The pokes that the request stands for.
  package var pokes: [PokeRecord]
  /// How many requests of its class go before it, if it is pending.
  package var position: Int?
  /// The request of the same identifier that waits for its first launch, if it is another one, and no number was asked
  /// for.
  package var waiting: RequestRecord?
  /// The number of the last request of the identifier before this one that wrote output; only for `RequestChoice.ran`.
  package var earlierOutput: Int?

  package init(
    record: RequestRecord, launches: [LaunchRecord], events: [EventRecord], pokes: [PokeRecord] = [],
    position: Int? = nil, waiting: RequestRecord? = nil, earlierOutput: Int? = nil
  ) {
    self.waiting = waiting
    self.earlierOutput = earlierOutput
    self.record = record
    self.launches = launches
    self.events = events
    self.pokes = pokes
    self.position = position
  }
}

package enum CancelSelection: Hashable, Sendable {
  /// The live and the waiting request of the identifier, or the one with this number.
  case identifier(JobIdentifier, number: Int?)
  case all
}

package struct HostReport: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// Holds a lease and takes launches.
    case ready
    /// Holds a lease; its connection is away for the moment.
    case away
    case draining
    /// Its owner paused it.
    case paused
    /// Its owner lends it at other hours.
    case outsideHours
    case gone
  }

  package var name: HostName
  package var state: State
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions
  package var usedSlots: Int
  /// Identifiers of the launches that run there.
  package var running: [JobIdentifier]
  package var lastSeenAt: Timestamp?

  package init(
    name: HostName, state: State, version: String, capabilities: Capabilities, conditions: Conditions, usedSlots: Int,
    running: [JobIdentifier], lastSeenAt: Timestamp?
  ) {
    self.name = name
    self.state = state
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
    self.usedSlots = usedSlots
    self.running = running
    self.lastSeenAt = lastSeenAt
  }
}

package struct Explanation: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable, CaseIterable {
    case running
    case ended
    case waiting
    /// No known host can ever take it as the fleet is configured.
    case impossible
  }

  package struct Line: Hashable, Sendable {
    /// Nil for obstacles of the request itself or of the whole fleet.
    package var host: HostName?
    package var code: String
    package var text: String
    package var remedy: String
    package var isPermanent: Bool
    /// Who says so, for an obstacle that comes from the conditions of the host: `sysfs`, `assumed`, `simulated` …
    package var source: String?
    /// What that source said, word for word.
    package var raw: String?
    /// For how long it has been so, if somebody knows.
    package var age: Duration?
    /// When the host was heard of last.
    package var reportedAt: Timestamp?
    /// When it clears by itself, if that can be known.
    package var clearsAt: Timestamp?

    package init(
      host: HostName?, code: String, text: String, remedy: String, isPermanent: Bool, source: String? = nil,
      raw: String? = nil, age: Duration? = nil, reportedAt: Timestamp? = nil, clearsAt: Timestamp? = nil
    ) {
      self.host = host
      self.code = code
      self.text = text
      self.remedy = remedy
      self.isPermanent = isPermanent
      self.source = source
      self.raw = raw
      self.age = age
      self.reportedAt = reportedAt
      self.clearsAt = clearsAt
    }
  }

  /// Whose turn it is among definitions: by priority, and within one priority by recent use (contract, row 25).
  package struct Order: Hashable, Sendable {
    /// When a person used its definition last, on the wall clock; nil if no person did.
    package var lastUsedAt: Timestamp?
    /// That is recent enough to go before definitions of its priority without recent use.
    package var hasRecentUse: Bool
    /// Classes of requests that are ready and go before its own, because of their priority or their recent use.
    package var classesAhead: Int

    package init(lastUsedAt: Timestamp? = nil, hasRecentUse: Bool, classesAhead: Int = 0) {
      (self.lastUsedAt, self.hasRecentUse, self.classesAhead) = (lastUsedAt, hasRecentUse, classesAhead)
    }
  }

  package var record: RequestRecord
  package var verdict: Verdict
  /// The request's and the fleet's own first, then host by host: those that are nearest to taking it first.
  package var lines: [Line]
  /// How many requests of its class go before it, if it is pending.
  package var position: Int?
  /// What would start it; empty if it is not pending.
  package var advice: String
  /// Nil if it is not pending.
  package var order: Order?

  package init(
    record: RequestRecord, verdict: Verdict, lines: [Line], position: Int? = nil, advice: String = "",
    order: Order? = nil
  ) {
    self.order = order
    self.record = record
    self.verdict = verdict
    self.lines = lines
    self.position = position
    self.advice = advice
  }
}

/// Nobody answers there; told within five seconds.
package struct CoordinatorUnreachable: Error, Sendable, CustomStringConvertible {
  package var message: String
  /// The token was not taken, rather than nobody being there.
  package var isNotPermitted: Bool

  package init(_ message: String, isNotPermitted: Bool = false) {
    self.message = message
    self.isNotPermitted = isNotPermitted
  }

  package var description: String { message }
}
