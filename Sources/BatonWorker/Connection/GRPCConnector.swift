import BatonBase
import BatonModel
import BatonProtobuf
package import BatonWire
import GRPCCore

/// Connects a worker to a coordinator in another process of this machine, by gRPC.
package struct GRPCConnector: Connector {
  let endpoint: HostPort
  let tokenFile: String?

  /// Throws `WorkerError` if the coordinator's address is wrong, or is not a loopback address (promise P14).
  package init(_ configuration: WorkerConfiguration) throws {
    do {
      endpoint = try HostPort(parsing: configuration.coordinator)
    } catch {
      throw WorkerError("the coordinator's address is wrong: \(error)")
    }
    if let refusal = endpoint.refusal { throw WorkerError(refusal) }
    tokenFile = configuration.tokenFile
  }

  package var address: String { endpoint.description }

  package func withConnection(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws {
    do {
      try await CoordinatorClient.withLoopClient(endpoint, tokenFile: tokenFile) { client, metadata in
        let workers = Baton_V1_Workers.Client(wrapping: client)
        let connection = Connection()
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await Self.pump(connection, workers, metadata) }
          group.addTask { try await body(connection) }
          defer { connection.close() }
          try await group.next()
          connection.close()
          try await group.waitForAll()
        }
      }
    } catch let error as RPCError {
      throw ConnectionError(Self.message(error, endpoint))
    } catch let error as LinkError {
      throw ConnectionError("\(error)")
    } catch let error as TokenFileError {
      throw ConnectionError("\(error)")
    }
  }

  /// Carries messages in both directions until either side closes the connection.
  private static func pump(
    _ connection: Connection, _ workers: Baton_V1_Workers.Client<some ClientTransport>, _ metadata: Metadata
  ) async throws {
    defer { connection.close() }
    try await workers.connect(metadata: metadata, options: CoordinatorClient.callOptions) { writer in
      while let messages = await connection.up.receive() {
        for frame in Framing.frames(messages) { try await writer.write(frame) }
      }
    } onResponse: { response in
      for try await frame in response.messages {
        connection.down.send(contentsOf: try Framing.messages(frame))
      }
      connection.close()
    }
  }

  private static func message(_ error: RPCError, _ endpoint: HostPort) -> String {
    switch error.code {
    case .unavailable: "the coordinator at \(endpoint) went away: \(error.message)"
    case .unauthenticated: "the coordinator at \(endpoint) refused this worker's token: \(error.message)"
    default: "the connection to \(endpoint) failed: \(error.message)"
    }
  }
}
