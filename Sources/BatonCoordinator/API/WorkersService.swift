import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore

/// The gRPC service that workers connect to: carries messages between a stream and the coordinator's connection.
struct WorkersService: Baton_V1_Workers.SimpleServiceProtocol {
  let coordinator: Coordinator

  func connect(
    request: RPCAsyncSequence<Baton_V1_WorkerFrame, any Swift.Error>, response: RPCWriter<Baton_V1_CoordinatorFrame>,
    context: ServerContext
  ) async throws {
    let connection = Connection()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Self.receive(request, connection) }
      group.addTask {
        defer { connection.close() }
        try await coordinator.serve(connection, from: context.remotePeer)
      }
      // What was sent before the end still goes out; then the response ends and with it the stream.
      while let messages = await connection.down.receive() {
        for frame in try Framing.frames(messages) { try await response.write(frame) }
      }
      group.cancelAll()
    }
  }

  private static func receive(
    _ request: RPCAsyncSequence<Baton_V1_WorkerFrame, any Swift.Error>, _ connection: Connection
  ) async throws {
    defer { connection.close() }
    for try await frame in request {
      guard connection.up.send(contentsOf: try frame.messages.map(WorkerMessage.init)) else { return }
    }
  }

  func reportDeath(request: Baton_V1_DeathReport, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      coordinator.processDied(
        HostName(request.host), Incarnation(request.incarnation), isBlameless: request.isBlameless)
      return Baton_V1_Empty()
    }
  }
}
