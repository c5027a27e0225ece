import BatonModel
import BatonStore
import Testing

let someTime = Moment(Timestamp(nanoseconds: 1_700_000_000_000_000_000))
let someHost = HostName("alpha")
let someProcess = Incarnation("alpha-1")
let someWorker = WorkerProcess(host: someHost, incarnation: someProcess)
let someLease = HostLease(host: someHost, incarnation: someProcess, number: 1)
let someSpan = SpanID(1)
let someTrace = TraceContext(traceID: TraceID(high: 1, low: 1), spanID: someSpan, isSampled: true)

/// The `StoreError` that `body` throws; `nil` if it throws no error.
func refusal(_ body: () async throws -> Void) async -> StoreError? {
  do { try await body() } catch { return error as? StoreError }
  return nil
}

extension Store {
  /// Applies `com.*` and connects the host.
  func prepare() async throws -> DefinitionID {
    let pattern = try #require(IdentifierPattern("com.*"))
    try await grantLease(someHost, someProcess, report: nil, at: someTime)
    return try await apply([Definition(pattern: pattern, kind: .processing)], seeds: [someTrace], at: someTime)[0].id
  }

  @discardableResult
  func submit(_ name: String, to definition: DefinitionID, id: String? = nil) async throws -> SubmissionAnswer {
    let identifier = try #require(JobIdentifier(name))
    let submission = Submission(id: id ?? name, identifier: identifier, trace: someTrace)
    return try await submit([SubmissionOffer(submission: submission, definition: definition)], at: someTime)[0]
  }

  func start(_ definition: DefinitionID) async throws -> LaunchKey {
    let claim = Claim(
      requirementClass: RequirementClass(definition: definition, priority: .background), lease: someLease,
      places: [Claim.Place(gpus: [], spanID: someSpan)])
    return try #require(try await self.claim([claim], at: someTime)[0].assignments.first).launch
  }
}
