import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry

/// The calls of one caller, limited to what the caller's credential permits. The scope of a call was checked before
/// (`OperatorInterceptor`); this checks what the call concerns:
/// - A caller with patterns sees and changes only identifiers that they cover. Everything else does not exist for this
///   caller: the answer is the same whether there is such a job or not, and comes before anything is looked up.
/// - A caller with the scope `submit`, but not `operate`, cancels and retries only its own requests, and reads only
///   their output.
/// - The principal of what is done is the credential's name.
///
/// Each call that changes something, and each refusal, gets a row in the audit log.
struct PermittedAPI: OperatorAPI {
  let api: any OperatorAPI
  let caller: Caller
  /// `nil` in tests that need no audit log.
  let audit: CallAudit?
  let meter: CallMeter?

  // MARK: Checks

  func entry(_ method: String, _ object: String, claiming claim: String? = nil) -> AuditEntry {
    AuditEntry(
      at: audit?.now ?? Timestamp(nanoseconds: 0), actor: caller.name, credential: caller.credential?.id,
      peer: caller.peer, method: method, object: object,
      detail: claim.map { $0.isEmpty || $0 == caller.name ? "" : "onBehalfOf=\($0.escapedOnOneLine)" } ?? "")
  }

  /// Refuses a call.
  func refuse(_ method: String, _ object: String, _ error: OperatorError, _ why: String) async -> OperatorError {
    await audit?.noteDenied(entry(method, object), why)
    return error
  }

  /// Carries out a call that changes something.
  /// - Parameters:
  ///   - detail: what else the audit log says.
  ///   - nothing: why a result means that nothing was changed; `nil` if it was.
  func changing<Result: Sendable>(
    _ method: String, _ object: String, claiming claim: String? = nil, detail: String? = nil,
    _ body: @Sendable () async throws -> Result, nothing: @Sendable (Result) -> String? = { _ in nil }
  ) async throws -> Result {
    guard let audit else { return try await body() }
    var entry = entry(method, object, claiming: claim)
    if let detail { entry = entry.with(entry.outcome, detail) }
    return try await audit.changing(entry, body, nothing: nothing)
  }

  func check(_ identifier: JobIdentifier, _ number: Int?, _ method: String) async throws {
    guard !caller.covers(identifier) else { return }
    let name = identifier.rawValue
    let message =
      number.map { "there is no request \($0) of '\(name)': look at 'baton list \(name)'" }
      ?? "there is no job '\(name)': look at 'baton list'"
    throw await refuse(method, name, .notFound(message), "outside of the credential's patterns")
  }

  func check(_ pattern: IdentifierPattern, _ method: String) async throws {
    guard !caller.covers(pattern) else { return }
    throw await refuse(
      method, pattern.rawValue, .notFound("there is no job '\(pattern)': look at 'baton list'"),
      "outside of the credential's patterns")
  }

  /// Refuses a caller with patterns what concerns the whole fleet.
  func checkUnlimited(_ method: String, _ object: String) async throws {
    guard let limits = caller.limits else { return }
    throw await refuse(
      method, object,
      .notPermitted(
        "the credential '\(caller.name)' is limited to \(limits.map(\.rawValue).joined(separator: ", ")), and this "
          + "concerns other jobs too"), "it concerns the whole fleet")
  }
}
