package import BatonModel
import BatonProtobuf
package import BatonWire
package import GRPCCore
import SwiftProtobuf

/// Adds the coordinator's version and wall-clock time to every answer. `baton doctor` compares both with its own.
struct IdentityInterceptor: ServerInterceptor {
  static let versionKey = "baton-version"
  /// The key of the time, which is in nanoseconds since 1970 UTC.
  static let dateKey = "baton-date"

  let date: @Sendable () -> Timestamp

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    var response = try await next(request, context)
    // A client that has proven nothing does not get the version.
    guard !EnrolmentService.methods.contains(context.descriptor) else { return response }
    response.metadata.addString(BatonVersion.current, forKey: Self.versionKey)
    response.metadata.addString("\(date().nanoseconds)", forKey: Self.dateKey)
    return response
  }
}

/// What a coordinator says about itself.
package struct CoordinatorIdentity: Hashable, Sendable {
  /// The coordinator's version; nil if it is too old to send it.
  package var version: String?
  /// What the coordinator's wall clock showed when it answered.
  package var date: Timestamp?

  /// Asks the coordinator.
  /// - Throws: `CoordinatorUnreachable` if no coordinator answers within five seconds, or the token is not accepted.
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
