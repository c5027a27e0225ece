package import BatonModel
import BatonProtobuf
package import BatonWire
package import GRPCCore
import SwiftProtobuf

/// Says in every answer which version the coordinator is of, and what its wall clock shows: `baton doctor` compares both.
struct IdentityInterceptor: ServerInterceptor {
  static let versionKey = "baton-version"
  /// Nanoseconds since 1970 UTC.
  static let dateKey = "baton-date"

  let date: @Sendable () -> Timestamp

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    var response = try await next(request, context)
    // Strangers are not told the version.
    guard context.descriptor != IdentityService.method else { return response }
    response.metadata.addString(BatonVersion.current, forKey: Self.versionKey)
    response.metadata.addString("\(date().nanoseconds)", forKey: Self.dateKey)
    return response
  }
}

/// Who a coordinator says that it is.
package struct CoordinatorIdentity: Hashable, Sendable {
  /// Nil for one that does not say: it is older than this.
  package var version: String?
  /// What its wall clock showed when it answered.
  package var date: Timestamp?

  /// - Throws: `CoordinatorUnreachable` if nobody answers within five seconds, or the token is not taken.
  package init(
    asking client: GRPCClient<some ClientTransport>, _ metadata: Metadata, at endpoint: HostPort
  ) async throws {
    var options = CoordinatorClient.callOptions
    options.timeout = .seconds(5)
    do {
      self = try await Baton_V1_Operators.Client(wrapping: client)
        .hosts(Baton_V1_Empty(), metadata: metadata, options: options) { response in
          _ = try response.message
          return CoordinatorIdentity(response.metadata)
        }
    } catch let error as RPCError {
      throw error.meaning(at: endpoint)
    }
  }

  private init(_ metadata: Metadata) {
    func text(_ key: String) -> String? { metadata[stringValues: key].first { _ in true } }
    version = text(IdentityInterceptor.versionKey)
    date = text(IdentityInterceptor.dateKey).flatMap { Int64($0) }.map { Timestamp(nanoseconds: $0) }
  }
}
