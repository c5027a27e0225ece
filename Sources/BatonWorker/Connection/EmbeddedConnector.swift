package import BatonWire

/// Connects a worker to a coordinator in the same process, as in `baton run` and `baton up`. `serve` is the
/// coordinator's side of the connection.
package struct EmbeddedConnector: Connector {
  private let serve: @Sendable (Connection) async throws -> Void

  package init(_ serve: @escaping @Sendable (Connection) async throws -> Void) { self.serve = serve }

  package var address: String { "this process" }

  package func withConnection(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws {
    let connection = Connection()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { connection.close() }
        try await serve(connection)
      }
      group.addTask {
        defer { connection.close() }
        try await body(connection)
      }
      try await group.waitForAll()
    }
  }
}
