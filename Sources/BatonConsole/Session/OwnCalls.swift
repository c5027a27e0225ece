package import BatonBase
package import BatonCoordinator
import BatonModel

/// Calls of the person who started the process of a console: they need no proof but the session.
package enum OwnCalls {
  /// What a call of a session shows in place of a credential.
  static let shown = "own"

  /// - Parameter connection: what the person may call, and whom the coordinator takes the person for.
  package static func calls(
    _ connection: @escaping @Sendable () async throws -> (any OperatorAPI, Caller), _ clocks: Clocks
  ) -> HTTPCalls {
    HTTPCalls(
      admit: { method, shown, _ in
        guard shown == Self.shown else { throw HTTPFailure(401, "notPermitted", "this browser is not signed in") }
        let (api, caller): (any OperatorAPI, Caller)
        do {
          (api, caller) = try await HTTPCall.telling(connection)
        } catch let failure as HTTPFailure where failure.status == 401 {
          // The session is fine. It is the person's own credential that the coordinator does not accept.
          throw HTTPFailure(403, failure.code, failure.message)
        }
        guard HTTPCalls.permits(method, to: caller) else {
          let scopes = caller.credential?.scopes.text ?? ""
          throw HTTPFailure(
            403, "notPermitted", "the credential '\(caller.name)' may not do this: it has the scopes \(scopes)")
        }
        return HTTPCall(caller, api)
      }, now: { clocks.date() }, sleep: clocks.sleep, mostWaits: 100)
  }
}
