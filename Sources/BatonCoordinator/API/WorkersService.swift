import BatonBase
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore

/// The gRPC service that workers connect to. It carries messages between a stream and the coordinator's connection.
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
      // Messages that were sent before the end are still written. Then the response ends, and with it the stream.
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
      do {
        guard connection.up.send(contentsOf: try Self.messages(frame)) else { return }
      } catch let error as WireError {
        // The error is not thrown, so that the stream stays open and the worker gets the reason.
        connection.down.send(.refused(error.message, isFinal: false))
        return
      }
    }
  }

  static func messages(_ frame: Baton_V1_WorkerFrame) throws -> [WorkerMessage] {
    try WireLimits.frame.check(frame.messages.count)
    return try frame.messages.map(WorkerMessage.init)
  }

  func reportDeath(request: Baton_V1_DeathReport, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      let process = WorkerProcess(
        host: try HostName(request.host).heldToLimits(),
        incarnation: try Incarnation(request.incarnation).heldToLimits())
      try WireLimits.secret.check(request.secret.count)
      try await coordinator.processDied(
        process, secret: request.hasSecret ? Array(request.secret) : nil, isBlameless: request.isBlameless)
      return Baton_V1_Empty()
    }
  }
}
