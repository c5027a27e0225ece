internal import BatonBase
package import BatonHost
package import BatonModel
internal import BatonProcess

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Answers the worker of the same host on a Unix socket in the folder of the transfers. Each connection carries one
/// request and one answer. Only this user and root are answered.
package struct TransferSocket: Sendable {
  private let engine: TransferEngine
  private let path: String
  private let conditions: @Sendable (Conditions) -> Void
  /// The user of the process at the other end of a connection.
  private let peer: @Sendable (UnixSocket) -> UInt32?
  /// How long a client may take to send its request, and again to take the answer.
  private let patience: Duration

  /// How many connections are served at the same time. Further clients wait.
  package static let connections = 16

  /// The path of the socket of transfers that are kept in `folder`.
  package static func path(in folder: String) -> String { folder + "/socket" }

  /// - Parameter conditions: is told the conditions of the host. It must not wait.
  package init(
    _ engine: TransferEngine, patience: Duration = .seconds(5),
    peer: @escaping @Sendable (UnixSocket) -> UInt32? = { $0.peerUser },
    conditions: @escaping @Sendable (Conditions) -> Void = { _ in }
  ) {
    (self.engine, self.conditions, self.peer, self.patience) = (engine, conditions, peer, patience)
    path = Self.path(in: engine.folder)
  }

  /// Answers until its task is cancelled, and then removes the socket file.
  /// - Parameter ready: called when clients can connect.
  /// - Throws: `SystemError` if it cannot listen.
  package func run(ready: @Sendable () -> Void = {}) async throws {
    let listener = try await onOwnThread { try listen() }
    defer { unlink(path) }
    ready()
    await withTaskGroup(of: Void.self) { group in
      var open = 0
      while let connection = await next(on: listener) {
        group.addTask { await serve(connection) }
        open += 1
        guard open == Self.connections else { continue }
        await group.next()
        open -= 1
      }
      group.cancelAll()
    }
  }

  /// The lock of the journal says that no other process listens here, so a file that is there is a dead one's.
  private func listen() throws -> UnixSocket {
    if let problem = engine.settings.problem { throw SystemError(.unusable, "transfers.folder: \(problem)") }
    unlink(path)
    guard let socket = UnixSocket.make() else { throw SystemCall.failure("cannot make a socket for", path) }
    let problem = socket.bind(to: path)
    guard problem == 0, chmod(path, 0o600) == 0, listenSocket(socket.descriptor) == 0 else {
      throw SystemCall.failure("cannot listen on", path)
    }
    return socket
  }

  /// The next connection, or `nil` when the task is cancelled.
  private func next(on listener: UnixSocket) async -> UnixSocket? {
    while true {
      await Readiness.wait(reading: listener.descriptor)
      if Task.isCancelled { return nil }
      if let connection = listener.accept() { return connection }
      // The client has gone, or this process has too many open files. Only waiting helps in the second case.
      try? await Task.sleep(for: .milliseconds(50), clock: .continuous)
    }
  }

  private func serve(_ connection: UnixSocket) async {
    await withTaskCancellationHandler {
      guard let request = try? await onOwnThread({ read(connection) }) else { return }
      let answer = await answer(request)
      _ = try? await onOwnThread { send(answer, on: connection) }
    } onCancel: {
      connection.close()
    }
  }

  private enum Read: Sendable {
    case request(TransferRequest)
    case refused(String)
  }

  /// - Returns: `nil` if no client waits for an answer.
  private func read(_ connection: UnixSocket) -> Read? {
    guard let user = peer(connection), user == 0 || user == geteuid() else {
      return .refused("only the worker of this host may give orders to its transfers")
    }
    switch connection.line(atMost: TransferRequest.maximumBytes, until: .now + patience) {
    case .line(let line):
      guard let request = try? JSONDecoder().decode(TransferRequest.self, from: Data(line)) else {
        return .refused("this is not a valid request")
      }
      return request.problem.map { .refused($0) } ?? .request(request)
    case .tooLong: return .refused("a request has at most \(TransferRequest.maximumBytes) bytes")
    case .ended, .late: return nil
    }
  }

  private func answer(_ read: Read?) async -> TransferAnswer? {
    switch read {
    case nil: return nil
    case .refused(let text): return .refused(text)
    case .request(.orders(let orders)):
      guard let answers = try? await onOwnThread({ engine.obey(orders) }) else { return nil }
      return .orders(answers)
    case .request(.list(let after, let most)): return .statuses(engine.statuses(after: after, atMost: most))
    case .request(.changes(let cursor, let most, let wait)):
      return .changes(await engine.nextChanges(since: cursor, atMost: most, patience: .milliseconds(wait)))
    case .request(.conditions(let conditions)):
      self.conditions(conditions)
      return .done
    }
  }

  private func send(_ answer: TransferAnswer?, on connection: UnixSocket) {
    guard let answer else { return }
    guard let line = try? JSONEncoder().encode(answer) else {
      preconditionFailure("an answer of the transfers cannot be written as JSON: \(answer)")
    }
    _ = connection.send(Array(line) + [UInt8(ascii: "\n")], until: .now + patience)
  }
}

private func listenSocket(_ descriptor: Int32) -> Int32 { listen(descriptor, 64) }

/// The worker's side of the connection to the transfers of its host.
package struct TransferClient: Sendable {
  private let path: String
  /// How long the process may take for an answer, beyond the wait that a request asks for.
  private let patience: Duration

  /// - Parameter folder: `TransferSettings.folder` of the process.
  package init(folder: String, patience: Duration = .seconds(30)) {
    (path, self.patience) = (TransferSocket.path(in: folder), patience)
  }

  /// Sends a request, and returns the answer.
  /// - Throws: `SystemError` if the process does not run or does not answer in time. It is started again soon, and an
  ///   order may be repeated without harm.
  package func ask(_ request: TransferRequest) async throws -> TransferAnswer {
    guard let line = try? JSONEncoder().encode(request) else {
      preconditionFailure("a request to the transfers cannot be written as JSON: \(request)")
    }
    var patience = patience
    if case .changes(_, _, let wait) = request { patience += .milliseconds(wait) }
    return try await onOwnThreadUntilCancelled { [path, patience] in
      try Self.ask(Array(line) + [UInt8(ascii: "\n")], path, until: .now + patience)
    }
  }

  private static func ask(
    _ line: [UInt8], _ path: String, until deadline: ContinuousClock.Instant
  ) throws -> TransferAnswer {
    guard path.utf8.count <= UnixSocket.longestPath, let socket = UnixSocket.make() else {
      throw SystemError(.unusable, "cannot reach the transfers of this host at \(path)")
    }
    let problem = socket.connect(to: path)
    guard problem == 0 else {
      throw SystemError(
        .failed, "cannot reach the transfers of this host at \(path): \(SystemCall.explanation(of: problem))",
        cause: problem)
    }
    guard socket.send(line, until: deadline),
      case .line(let answer) = socket.line(atMost: TransferAnswer.maximumBytes, until: deadline),
      let answer = try? JSONDecoder().decode(TransferAnswer.self, from: Data(answer))
    else { throw SystemError(.failed, "the transfers of this host gave no answer at \(path)") }
    return answer
  }
}
