import BatonBase
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The gRPC service that workers connect to. It carries messages between a stream and the coordinator's connection.
struct WorkersService: Baton_V1_Workers.SimpleServiceProtocol {
  let coordinator: Coordinator
  /// The identities that callers prove; nil where the listener admits only this user, whose workers may have any name.
  var identities: HostIdentities?
  /// Closes the connection of a host whose certificate has ended or was revoked.
  var door: Door?

  func connect(
    request: RPCAsyncSequence<Baton_V1_WorkerFrame, any Swift.Error>, response: RPCWriter<Baton_V1_CoordinatorFrame>,
    context: ServerContext
  ) async throws {
    let connection = Connection()
    let caller = try identities?.caller(context, at: coordinator.clocks.date())
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Self.receive(request, connection, from: caller?.host) }
      if let caller, let identities {
        group.addTask {
          await identities.untilEnd(of: caller, coordinator.clocks)
          connection.close()
          if !Task.isCancelled { door?.dismiss(context.remotePeer) }
        }
      }
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
    _ request: RPCAsyncSequence<Baton_V1_WorkerFrame, any Swift.Error>, _ connection: Connection,
    from caller: HostName?
  ) async throws {
    defer { connection.close() }
    for try await frame in request {
      do {
        let messages = try Self.messages(frame)
        for case .hello(let hello) in messages where caller != nil && hello.host != caller {
          connection.down.send(
            .refused("the certificate of this worker is for another host, and not for \(hello.host)", isFinal: true))
          return
        }
        guard connection.up.send(contentsOf: messages) else { return }
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
      if let caller = try identities?.caller(context, at: coordinator.clocks.date()), caller.host != process.host {
        throw OperatorError.notPermitted("the certificate of \(caller.host) cannot report the death of another host")
      }
      try WireLimits.secret.check(request.secret.count)
      try await coordinator.processDied(
        process, secret: request.hasSecret ? Array(request.secret) : nil, isBlameless: request.isBlameless)
      return Baton_V1_Empty()
    }
  }

  func renew(request: Baton_V1_RenewRequest, context: ServerContext) async throws -> Baton_V1_RenewReply {
    try await answering {
      guard let caller = try identities?.caller(context, at: coordinator.clocks.date()) else {
        throw OperatorError.invalid("a worker on the coordinator's machine has no certificate to renew")
      }
      return Baton_V1_RenewReply(
        try await coordinator.renew(caller, request: Array(request.request), from: context.remotePeer))
    }
  }
}
