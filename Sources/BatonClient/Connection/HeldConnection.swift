import BatonBase
import BatonIdentity
import BatonProtobuf
import BatonWire
import GRPCCore

/// A connection to one coordinator that stays open between calls. `CoordinatorClient` opens a connection for the length
/// of a closure; here the closure lasts until the connection is given up.
final class HeldConnection: Sendable {
  typealias Metadata = GRPCCore.Metadata
  typealias Operators = Baton_V1_Operators.Client<CoordinatorClient.Transport>

  let operators: Operators
  let metadata: Metadata
  let endpoint: HostPort
  /// Is fulfilled, always with an error, when the connection is given up.
  private let givenUp = Promise<Void>()
  /// How the closure ended. It says more than the error of a call: for example that the port is for workers.
  private let outcome = Promise<Void>()

  private init(_ client: GRPCClient<CoordinatorClient.Transport>, _ metadata: Metadata, _ endpoint: HostPort) {
    (operators, self.metadata, self.endpoint) = (Operators(wrapping: client), metadata, endpoint)
  }

  /// Connects, and recognises the coordinator. The connection lives in a task of its own, because no caller is there
  /// for as long as it is.
  /// - Throws: what `CoordinatorClient` throws; `CancellationError` if the caller's task is cancelled meanwhile.
  static func open(_ endpoint: HostPort, _ access: CoordinatorLocation.Access) async throws -> HeldConnection {
    let opened = Promise<HeldConnection>()
    let task = Task {
      do {
        try await run(endpoint, access) { connection in
          guard opened.fulfil(.success(connection)) else { return }
          try await connection.givenUp.value()
        }
        (try? opened.result?.get())?.outcome.fulfil(.success(()))
      } catch {
        if opened.fulfil(.failure(error)) { return }
        (try? opened.result?.get())?.outcome.fulfil(.failure(error))
      }
    }
    return try await withTaskCancellationHandler {
      try await opened.value()
    } onCancel: {
      // A connection that comes nevertheless is closed at once.
      opened.fulfil(.failure(CancellationError()))
      task.cancel()
    }
  }

  private static func run(
    _ endpoint: HostPort, _ access: CoordinatorLocation.Access,
    _ body: @escaping @Sendable (HeldConnection) async throws -> Void
  ) async throws {
    switch access {
    case .own(let tokenFile, let folders):
      try await CoordinatorClient.withClient(endpoint, tokenFile: tokenFile, folders: folders) { client, metadata in
        try await body(HeldConnection(client, metadata, endpoint))
      }
    case .login(let login):
      try await CoordinatorClient.withSecureClient(endpoint, .login(login)) { client, _ in
        try await body(HeldConnection(client, ["authorization": .string("Bearer \(login.token)")], endpoint))
      }
    }
  }

  /// Closes the connection, also for the calls that are under way on it.
  /// - Parameter error: why.
  func close(because error: any Error) { givenUp.fulfil(.failure(error)) }

  /// Closes the connection because a call on it has failed, and returns when it is closed.
  /// - Returns: the error that says best why it has failed.
  func closed(because failure: any Error) async -> any Error {
    close(because: failure)
    do {
      try await outcome.value()
    } catch let error where error is LinkError || error is JobClientError {
      return error
    } catch {
      // It is what another call has given the connection up for, or that this task was cancelled.
    }
    return failure
  }
}
