package import BatonCoordinator
package import BatonHTTP
import Hummingbird

/// The HTTP API of a coordinator, which `Documentation/openapi.yaml` describes: calls of an `OperatorAPI` as JSON. Who
/// may call what is decided as for gRPC (`HTTPCalls`).
package struct HTTPAPI: Sendable {
  private let table: RouteTable

  package init(_ calls: HTTPCalls) {
    table = RouteTable(
      Route.all, calls, unknown: "there is no such path: /v1/openapi.yaml lists them", failed: { Answer($0) })
  }

  /// Adds the API of a coordinator to its server.
  @Sendable package static func serve(on router: HTTPService.Routes, _ calls: HTTPCalls) {
    HTTPAPI(calls).add(to: router)
  }

  /// Serves everything below `/v1`.
  package func add(to router: HTTPService.Routes) {
    for method in RouteTable.methods {
      router.on("/v1/**", method: method) { request, context in
        await table.response(to: Asked(request, context), request, in: context)
      }
    }
  }

  func answer(_ asked: Asked, _ body: @escaping @Sendable (Int) async throws -> [UInt8]) async -> Answer {
    await table.answer(asked, body)
  }
}
