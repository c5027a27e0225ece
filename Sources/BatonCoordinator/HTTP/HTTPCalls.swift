import BatonBase
package import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore

/// Lets in calls that come over HTTP as those over gRPC are let in: with the same proofs, scopes, patterns and rates,
/// and with the same rows in the audit log. A route names the method of gRPC that it stands for.
package struct HTTPCalls: Sendable {
  /// Finds out who makes a call of a method, and refuses callers who prove nothing or may not make it. It throws an
  /// `HTTPFailure`. Its arguments are the name of the method in `baton.proto`, the header `Authorization`, and where
  /// the call comes from, as gRPC writes it.
  package var admit: @Sendable (_ method: String, _ shown: String?, _ peer: String) async throws -> HTTPCall
  /// The time of the coordinator's wall clock.
  package var now: @Sendable () -> Timestamp
  /// Sleeps on the coordinator's clock.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// The most calls that may wait for something at the same time: half of the connections of HTTP, so that the other
  /// half answers.
  package var mostWaits: Int

  package init(
    admit: @escaping @Sendable (String, String?, String) async throws -> HTTPCall,
    now: @escaping @Sendable () -> Timestamp, sleep: @escaping @Sendable (Duration) async throws -> Void,
    mostWaits: Int
  ) {
    (self.admit, self.now, self.sleep, self.mostWaits) = (admit, now, sleep, mostWaits)
  }

  /// Whether a credential may make calls of the method, as far as its scopes go. The table of gRPC decides.
  package static func permits(_ method: String, to caller: Caller) -> Bool {
    caller.isPermitted(access(of: method))
  }

  fileprivate static func access(of method: String) -> Baton_V1_Access {
    Baton_V1_Access.of("baton.v1.Operators/\(method)") ?? .unspecified
  }
}

extension HTTPCalls {
  init(_ gate: Gate, mostWaits: Int) {
    let coordinator = gate.coordinator
    self.init(
      admit: { method, shown, peer in
        do {
          let access = Self.access(of: method)
          let caller = try await gate.caller(showing: shown, from: peer, calling: method)
          try await gate.admit(
            caller, to: method, isPermitted: caller.isPermitted(access), needed: access.needed,
            isChange: access.isChange)
          return HTTPCall(caller, gate)
        } catch let error as RPCError {
          throw HTTPFailure(error)
        }
      }, now: { coordinator.now().date }, sleep: { try await coordinator.clocks.sleep($0) },
      mostWaits: mostWaits)
  }
}

/// One call over HTTP that was let in.
package struct HTTPCall: Sendable {
  package let caller: Caller
  private let api: any OperatorAPI
  /// Returns when the caller's credential has ended or was revoked.
  private let end: (@Sendable () async -> Void)?

  /// - Parameter api: what the caller may call.
  package init(_ caller: Caller, _ api: any OperatorAPI, end: (@Sendable () async -> Void)? = nil) {
    (self.caller, self.api, self.end) = (caller, api, end)
  }

  /// Makes calls as the caller.
  /// - Throws: an `HTTPFailure`, or `CancellationError` if the task was cancelled.
  package func run<Result: Sendable>(_ body: @Sendable (any OperatorAPI) async throws -> Result) async throws -> Result
  {
    try await Self.telling { try await Caller.$current.withValue(caller) { try await body(api) } }
  }

  /// Runs `body`, and tells its errors as failures of HTTP.
  /// - Throws: an `HTTPFailure`, or `CancellationError` if the task was cancelled.
  package static func telling<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    do {
      return try await answering(body)
    } catch let error as RPCError {
      throw HTTPFailure(error)
    } catch let error as RuntimeError where error.code == .clientIsStopped {
      throw HTTPFailure(
        503, "unavailable", "the connection to the coordinator was lost", retryAfter: HTTPFailure.unavailableFor)
    } catch let error as CoordinatorUnreachable where error.isNotPermitted {
      throw HTTPFailure(401, "notPermitted", error.message)
    } catch let error as CoordinatorUnreachable {
      throw HTTPFailure(503, "unavailable", error.message, retryAfter: HTTPFailure.unavailableFor)
    } catch let error as HTTPFailure {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      throw HTTPFailure(500, "internal", "the call failed: \(error)")
    }
  }

  /// Makes calls as the caller, at most until its credential ends. Use it for what may last.
  package func runWhileValid<Result: Sendable>(
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    guard let end else { return try await run(body) }
    return try await withThrowingTaskGroup(of: Result.self) { group in
      group.addTask { try await run(body) }
      group.addTask {
        await end()
        try Task.checkCancellation()
        throw HTTPFailure(401, "notPermitted", "the credential has ended or was revoked: log in with another one")
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { preconditionFailure("a group with two tasks has a result") }
      return result
    }
  }
}

extension HTTPCall {
  fileprivate init(_ caller: Caller, _ gate: Gate) {
    let coordinator = gate.coordinator
    let api = PermittedAPI(
      api: coordinator, caller: caller, audit: coordinator.callAudit, meter: coordinator.callMeter)
    var end: (@Sendable () async -> Void)?
    if let credential = caller.credential, case .credentials(let credentials) = gate.proof {
      end = { await credentials.untilEnd(of: credential.id, coordinator.clocks) }
    }
    self.init(caller, api, end: end)
  }
}
