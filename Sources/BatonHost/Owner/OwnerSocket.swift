import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Answers the commands of the host's owner on a Unix socket. Each connection carries one line of JSON in each
/// direction.
package struct OwnerSocket: Sendable {
  package struct Limits: Hashable, Sendable {
    /// How long a client may take to send its request, and again to take the answer.
    package var patience: Duration
    /// How many connections are served at the same time. Further clients wait.
    package var connections: Int

    package init(patience: Duration = .seconds(5), connections: Int = 16) {
      self.patience = patience
      self.connections = connections
    }
  }

  private let place: OwnerSocketPath
  private let desk: OwnerDesk
  private let status: @Sendable () -> HostStatus
  private let limits: Limits
  private let warn: @Sendable (String) -> Void
  private let access: OwnerAccess

  /// - Parameters:
  ///   - place: where the socket file is made.
  ///   - desk: carries out the commands.
  ///   - status: called after each command. It must not wait.
  ///   - warn: called with problems that the owner should solve, and with each refused command.
  package init(
    at place: OwnerSocketPath, desk: OwnerDesk, limits: Limits = Limits(),
    status: @escaping @Sendable () -> HostStatus, warn: @escaping @Sendable (String) -> Void
  ) {
    self.init(at: place, desk: desk, limits: limits, access: .system, status: status, warn: warn)
  }

  init(
    at place: OwnerSocketPath, desk: OwnerDesk, limits: Limits = Limits(), access: OwnerAccess,
    status: @escaping @Sendable () -> HostStatus, warn: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.place = place
    self.desk = desk
    self.limits = limits
    self.access = access
    self.status = status
    self.warn = warn
  }

  /// Listens and answers until its task is cancelled, and then removes the socket file.
  /// - Parameter ready: called when the socket file exists and clients can connect.
  /// - Throws: `SystemError` if it cannot listen at this path. The message says what to do.
  package func run(ready: @Sendable () -> Void = {}) async throws {
    let listener = try await onOwnThread { [place, access] in
      try OwnerListener(place, group: access.ownerGroup())
    }
    defer { listener.remove() }
    if let warning = listener.warning { warn(warning) }
    ready()
    await withTaskGroup(of: Void.self) { group in
      var open = 0
      while let connection = await next(on: listener) {
        group.addTask { await serve(connection) }
        open += 1
        guard open == limits.connections else { continue }
        await group.next()
        open -= 1
      }
    }
  }

  /// The next connection, or `nil` when the task is cancelled.
  private func next(on listener: OwnerListener) async -> UnixSocket? {
    while true {
      await Readiness.wait(reading: listener.socket.descriptor)
      if Task.isCancelled { return nil }
      if let connection = listener.socket.accept() { return connection }
      // The client has gone, or this process has too many open files. Only waiting helps in the second case.
      try? await Task.sleep(for: .milliseconds(50), clock: .continuous)
    }
  }

  private func serve(_ connection: UnixSocket) async {
    await withTaskCancellationHandler {
      _ = try? await onOwnThread { converse(on: connection) }
    } onCancel: {
      connection.close()
    }
  }

  private func converse(on connection: UnixSocket) {
    let peer = access.peer(connection.descriptor)
    let deadline = ContinuousClock.now + limits.patience
    if let refusal = access.refusal(of: peer) {
      warn("refused an owner's command: \(refusal)")
      return answer(OwnerAnswer(refusing: "notPermitted", refusal), on: connection)
    }
    switch connection.line(atMost: OwnerRequest.maximumBytes, until: deadline) {
    case .line(let line): answer(obey(line, by: peer.map { access.name($0.user) } ?? ""), on: connection)
    case .tooLong:
      let text = "a request has at most \(OwnerRequest.maximumBytes) bytes"
      answer(OwnerAnswer(refusing: "badRequest", text), on: connection)
    case .ended, .late: break
    }
  }

  private func obey(_ line: [UInt8], by name: String) -> OwnerAnswer {
    guard let request = try? JSONDecoder().decode(OwnerRequest.self, from: Data(line)) else {
      return OwnerAnswer(
        refusing: "badRequest", "this is not a valid request: send one line such as {\"command\": \"status\"}")
    }
    switch request.command {
    case "status": return OwnerAnswer(status())
    case "resume": return answered(warning: desk.resume())
    case "pause":
      guard (1...OwnerRequest.longestPause).contains(request.milliseconds ?? 1) else {
        return OwnerAnswer(refusing: "badRequest", "a pause lasts from 1 ms to 10 years")
      }
      return answered(warning: desk.pause(by: name, for: request.milliseconds.map { .milliseconds($0) }))
    default:
      return OwnerAnswer(
        refusing: "badRequest",
        "unknown command '\(request.command)': this worker has pause, resume and status")
    }
  }

  /// The answer after a change of the owner's word, with the status that results from it.
  private func answered(warning: String?) -> OwnerAnswer { OwnerAnswer(status(), warning: warning) }

  private func answer(_ answer: OwnerAnswer, on connection: UnixSocket) {
    guard let line = try? JSONEncoder().encode(answer) else {
      preconditionFailure("an answer to the owner cannot be written as JSON: \(answer)")
    }
    // The result does not matter: the command has been carried out even if the client has gone or does not read the
    // answer.
    _ = connection.send(Array(line) + [UInt8(ascii: "\n")], until: .now + limits.patience)
  }
}
