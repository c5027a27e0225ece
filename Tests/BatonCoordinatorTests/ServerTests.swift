import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Foundation
import GRPCCore
import HostFixtures
import Logging
import Synchronization
import Testing

@testable import BatonCoordinator

/// A coordinator that listens on real sockets of loopback, in this process.
@Suite("A coordinator that listens", .timeLimit(.minutes(10)))
struct ServerTests {
  private static let token = String(repeating: "0123456789abcdef", count: 4)
  private static let otherToken = String(repeating: "fedcba9876543210", count: 4)
  private static let metricsToken = MetricsToken.derived(from: token)

  /// What runs, and where.
  private struct Running: Sendable {
    var port: Int
    var http: Int
    /// Where it left its token and sockets.
    var folder: String
    /// A token file for clients that are not the coordinator's user.
    var tokenFile: String

    var endpoint: HostPort { HostPort(host: "127.0.0.1", port: port) }
    /// The owner's way to HTTP.
    var httpSocket: String { "\(folder)/\(http).sock" }
    var own: RuntimeFolders { RuntimeFolders(paths: [folder]) }
    /// Those of another user: nothing is found there.
    var none: RuntimeFolders { RuntimeFolders(paths: [folder + "/none"]) }

    /// Asks for the hosts as a client of another user does: over TCP, with a named token file.
    @discardableResult
    func askOverTCP() async throws -> [HostReport] { try await ask(tokenFile, none) }

    @discardableResult
    func ask(_ tokenFile: String?, _ folders: RuntimeFolders) async throws -> [HostReport] {
      try await CoordinatorClient.withClient(endpoint, tokenFile: tokenFile, folders: folders) { client, metadata in
        try await OperatorClient(client: client, metadata: metadata, endpoint: endpoint).hostReports()
      }
    }

    func ask(_ metadata: Metadata, _ client: GRPCClient<CoordinatorClient.Transport>) async throws {
      _ = try await OperatorClient(client: client, metadata: metadata, endpoint: endpoint).hostReports()
    }
  }

  private static func serving(
    token: String = token, descriptors: DescriptorBudget = DescriptorBudget(limit: 1024),
    _ body: @escaping @Sendable (Running) async throws -> Void
  ) async throws {
    let files = FileManager.default
    let folder = "/tmp/baton-server-\(UUID().uuidString.prefix(8))"
    try files.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? files.removeItem(atPath: folder) }
    _ = files.createFile(
      atPath: folder + "/copy", contents: Data((token + "\n").utf8), attributes: [.posixPermissions: 0o600])
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let coordinator = Coordinator(store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(), logger: logger)
    let ports = Mailbox<(Int, Int)>(capacity: 1)
    let server = try CoordinatorServer(
      coordinator: coordinator, grpc: HostPort(host: "127.0.0.1", port: 0), http: HostPort(host: "127.0.0.1", port: 0),
      token: token, metrics: noMetrics, folders: RuntimeFolders(paths: [folder]), descriptors: descriptors,
      logger: logger
    ) { grpc, http, _ in ports.send((grpc.port, http?.port ?? 0)) }
    try await coordinator.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask {
        let (port, http) = try #require(await ports.receive()?.first)
        try await body(Running(port: port, http: http, folder: folder, tokenFile: folder + "/copy"))
      }
      // The server ends only if it fails.
      try await group.next()
      group.cancelAll()
    }
    let left = try files.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sock") || $0.hasSuffix("token") }
    #expect(left.isEmpty, "a coordinator that has ended leaves nothing behind")
  }

  /// A page without a line.
  private static let noMetrics = MetricsReader(
    now: { SystemClocks.instant() },
    collect: { MetricsSnapshot([], startedAt: Timestamp(nanoseconds: 0), takenAt: Timestamp(nanoseconds: 0)) })

  private static let quick = DescriptorBudget(limit: 1024, patience: .milliseconds(100))

  // MARK: C2

  /// HTTP/2's first bytes, and an empty SETTINGS frame.
  private static let preface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
  private static let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  private static let beginnings: [[UInt8]] = [[], Array("PRI".utf8), preface, preface + ping]

  @Test(
    "A connection over which no call shows the token is closed in time",
    arguments: beginnings)
  func silent(bytes: [UInt8]) async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let connection = try RawConnection(port: running.port)
      connection.send(bytes)
      _ = await connection.untilClosed()
    }
  }

  @Test("So is one that only asks the coordinator who it is, and one with a wrong token")
  func onlyProves() async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let wrong = running.folder + "/wrong"
      _ = FileManager.default.createFile(
        atPath: wrong, contents: Data(Self.otherToken.utf8), attributes: [.posixPermissions: 0o600])
      let connection = try RawConnection(port: running.port)
      await #expect(throws: LinkError.self) { try await running.ask(wrong, running.none) }
      _ = await connection.untilClosed()
    }
  }

  @Test("HTTP: a connection without a request, or with half of one, is closed in time", arguments: ["", "GET / HT"])
  func silentHTTP(text: String) async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let connection = try RawConnection(port: running.http)
      connection.send(text)
      _ = await connection.untilClosed()
    }
  }

  @Test("A connection that showed the token stays after that time")
  func stays() async throws {
    // On a busy machine the first call may come too late, which proves nothing: then there is more time.
    var patience = Duration.seconds(2)
    while try await !staysOnceServed(within: patience) {
      patience = patience * 5
      try #require(patience < .seconds(100), "no call was served")
    }
  }

  /// False if the first call was not served in time.
  private func staysOnceServed(within patience: Duration) async throws -> Bool {
    let wasServed = Mutex(false)
    try await Self.serving(descriptors: DescriptorBudget(limit: 1024, patience: patience)) { running in
      do {
        try await CoordinatorClient.withClient(
          running.endpoint, tokenFile: running.tokenFile, folders: running.none
        ) { client, metadata in
          try await running.ask(metadata, client)
          wasServed.withLock { $0 = true }
          _ = await (try RawConnection(port: running.port)).untilClosed()
          try await running.ask(metadata, client)
        }
      } catch  where !wasServed.withLock({ $0 }) {}
    }
    return wasServed.withLock { $0 }
  }

  @Test("More silent connections than there are descriptors keep no client out, over TCP, the socket or HTTP")
  func flood() async throws {
    // Ten of one address may be silent at a time.
    try await Self.serving(descriptors: DescriptorBudget(limit: 64, patience: .seconds(3600))) { running in
      var connections: [RawConnection] = []
      for _ in 0..<128 {
        connections.append(try RawConnection(port: running.port))
        connections.append(try RawConnection(port: running.http))
      }
      try await running.askOverTCP()
      try await running.ask(nil, running.own)
      let http = try RawConnection(port: running.http)
      http.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      #expect(String(decoding: await http.untilClosed(), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
      // The first of them had to go.
      _ = await connections[0].untilClosed()
      _ = await connections[1].untilClosed()
    }
  }

  @Test("A TCP flood of requests that need no token does not shut the owner's HTTP socket")
  func floodOfRequests() async throws {
    let health = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    // HTTP has room for eight connections, and for another of the owner.
    try await Self.serving(descriptors: DescriptorBudget(limit: 64, patience: .seconds(3600))) { running in
      var strangers: [RawConnection] = []
      for _ in 0..<16 {
        let stranger = try RawConnection(port: running.http)
        stranger.send(health + "\r\n")
        #expect(await stranger.next() != nil)
        strangers.append(stranger)
      }
      var owners: [RawConnection] = []
      for _ in 0..<4 {
        let owner = try RawConnection(socket: running.httpSocket)
        owner.send(health + "Authorization: Bearer \(Self.token)\r\n\r\n")
        let answer = await owner.next().map { String(decoding: $0, as: UTF8.self) }
        #expect(answer?.hasPrefix("HTTP/1.1 200") == true, "\(String(describing: answer))")
        owners.append(owner)
      }
      // Three of the four came in the place of a stranger: the oldest that the strangers had not driven out themselves.
      for stranger in strangers[..<11] { _ = await stranger.untilClosed() }
      strangers[11].send(health + "Connection: close\r\n\r\n")
      #expect(String(decoding: await strangers[11].untilClosed(), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
    }
  }

  // MARK: C1

  @Test("Clients of the same user find the socket and the token")
  func socket() async throws {
    try await Self.serving { running in
      #expect(try await running.ask(nil, running.own).isEmpty)
      let files = try FileManager.default.contentsOfDirectory(atPath: running.folder).sorted()
      #expect(
        Set(files).isSuperset(of: [
          "\(running.port).sock", "\(running.port).token", "\(running.port).metrics-token", "\(running.http).sock",
        ]))
    }
  }

  @Test("Where there is a socket, nothing is sent to the TCP port")
  func socketFirst() async throws {
    try await Self.serving { running in
      let squatter = Squatter()
      for name in ["sock", "token"] {
        try FileManager.default.moveItem(
          atPath: "\(running.folder)/\(running.port).\(name)", toPath: "\(running.folder)/\(squatter.port).\(name)")
      }
      let moved = Running(port: squatter.port, http: 0, folder: running.folder, tokenFile: running.tokenFile)
      #expect(try await moved.ask(nil, moved.own).isEmpty)
      #expect(!squatter.hasVisitors)
      for name in ["sock", "token"] {
        try FileManager.default.moveItem(
          atPath: "\(running.folder)/\(squatter.port).\(name)", toPath: "\(running.folder)/\(running.port).\(name)")
      }
    }
  }

  @Test("A socket in a folder that others can reach into is not used, and no token is found there")
  func reachableFolder() async throws {
    try await Self.serving { running in
      try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: running.folder)
      let error = await #expect(throws: LinkError.self) { try await running.ask(nil, running.own) }
      #expect(error?.code == .notPermitted)
      #expect(error?.description.contains("chmod 700 \(running.folder)") == true)
      // Over TCP a client that has the token gets in all the same.
      try await running.ask(running.tokenFile, running.own)
    }
  }

  @Test("What took the coordinator's port is not sent the token, and the client says what happened")
  func squatted() async throws {
    try await Self.serving { running in
      let squatter = Squatter()
      let squatted = Running(
        port: squatter.port, http: 0, folder: running.folder, tokenFile: running.tokenFile)
      async let heard = squatter.heard()
      let error = await #expect(throws: LinkError.self) { try await squatted.askOverTCP() }
      #expect(error?.description.contains("127.0.0.1:\(squatter.port)") == true)
      // It heard a call, the one that asks for the proof.
      let bytes = await heard
      #expect(bytes.count > Self.preface.count)
      #expect(bytes.firstRange(of: Array(Self.token.utf8)) == nil)
      #expect(bytes.firstRange(of: Array("Bearer".utf8)) == nil)
    }
  }

  @Test("A coordinator with another token does not get this one's client")
  func otherCoordinator() async throws {
    try await Self.serving(token: Self.otherToken) { running in
      let copy = running.folder + "/mine"
      _ = FileManager.default.createFile(
        atPath: copy, contents: Data(Self.token.utf8), attributes: [.posixPermissions: 0o600])
      let error = await #expect(throws: LinkError.self) { try await running.ask(copy, running.none) }
      #expect(error?.code == .notPermitted)
      #expect(error?.description.contains("did not prove") == true)
      #expect(error?.description.contains("BATON_TOKEN_FILE") == true)
    }
  }

  @Test("Without a token a client says where it looked, and that what listens may be a stranger")
  func noToken() async throws {
    try await Self.serving { running in
      let error = await #expect(throws: LinkError.self) { try await running.ask(nil, running.none) }
      #expect(error?.code == .notPermitted)
      #expect(error?.description.contains("\(running.folder)/none/\(running.port).token") == true)
      #expect(error?.description.contains("ss -ltnp 'sport = :\(running.port)'") == true)
    }
  }

  @Test("The code of one connection is worth nothing on another; the token itself is taken on each")
  func replay() async throws {
    try await Self.serving { running in
      // Each call has a connection of its own, because the coordinator closes a connection that is not proven in time.
      func connected<Result: Sendable>(
        _ body: @Sendable (GRPCClient<CoordinatorClient.Transport>, Metadata) async throws -> Result
      ) async throws -> Result {
        try await CoordinatorClient.withClient(
          running.endpoint, tokenFile: running.tokenFile, folders: running.none, body)
      }
      let stolen = try await connected { _, metadata in metadata }
      for wrong in [stolen, [:], ["authorization": "Baton-HMAC "], ["authorization": "Bearer \(Self.otherToken)"]] {
        try await connected { client, metadata in
          #expect(stolen != metadata)
          #expect(!"\(metadata)".contains(Self.token))
          let error = await #expect(throws: CoordinatorUnreachable.self) { try await running.ask(wrong, client) }
          #expect(error?.isNotPermitted == true)
        }
      }
      try await connected { client, metadata in try await running.ask(metadata, client) }
      try await connected { client, _ in
        try await running.ask(["authorization": .string("Bearer \(Self.token)")], client)
      }
    }
  }

  @Test("The metrics token opens `/metrics` and nothing else, and `/metrics` takes no other token")
  func opensMetrics() async throws {
    try await Self.serving { running in
      func http(_ connection: RawConnection, _ route: String, _ token: String) async -> String {
        connection.send(
          "\(route) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n")
        return String(decoding: await connection.untilClosed(), as: UTF8.self)
      }
      for connect in [{ try RawConnection(port: running.http) }, { try RawConnection(socket: running.httpSocket) }] {
        let shown = await http(try connect(), "GET /metrics", Self.metricsToken)
        #expect(shown.hasPrefix("HTTP/1.1 200"), "\(shown)")
        let refused = await http(try connect(), "GET /metrics", Self.token)
        #expect(refused.hasPrefix("HTTP/1.1 401") && refused.contains("metrics-token"), "\(refused)")
        let poke = await http(try connect(), "POST /v1/pokes/com.example.a", Self.metricsToken)
        #expect(poke.hasPrefix("HTTP/1.1 401"), "\(poke)")
      }
      // As a file for clients it is another coordinator's, and a call that carries it is refused on the socket, too.
      let file = "\(running.folder)/\(running.port).metrics-token"
      let unproven = await #expect(throws: LinkError.self) { try await running.ask(file, running.none) }
      #expect(unproven?.code == .notPermitted)
      let error = await #expect(throws: CoordinatorUnreachable.self) { try await running.ask(file, running.own) }
      #expect(error?.isNotPermitted == true)
    }
  }

  // MARK: HTTP

  @Test("A coordinator whose HTTP port is another program's never says that it is ready")
  func httpInUse() async throws {
    let squatter = Squatter()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let ready = Mutex(0)
    // Several times: one that says it too early may be stopped before it does.
    for _ in 0..<20 {
      let folder = "/tmp/baton-server-\(UUID().uuidString.prefix(8))"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let coordinator = Coordinator(store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(), logger: logger)
      let server = try CoordinatorServer(
        coordinator: coordinator, grpc: HostPort(host: "127.0.0.1", port: 0),
        http: HostPort(host: "localhost", port: squatter.port), token: Self.token,
        folders: RuntimeFolders(paths: [folder]), logger: logger
      ) { _, _, _ in ready.withLock { $0 += 1 } }
      try await coordinator.restore()
      await #expect(throws: ListenError.self) { try await server.run() }
    }
    #expect(ready.withLock { $0 } == 0)
  }

  @Test("A body that is too long or comes without the token is not waited for")
  func longBody() async throws {
    try await Self.serving { running in
      for (authorization, status) in [("Bearer wrong", "401"), ("Bearer \(Self.token)", "413")] {
        let connection = try RawConnection(port: running.http)
        connection.send(
          "POST /v1/pokes/com.example.a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: \(authorization)\r\n"
            + "Connection: close\r\nContent-Length: 209715200\r\n\r\n")
        let answer = String(decoding: await connection.untilClosed(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
      }
    }
  }

  @Test("A client that sends on after it was refused is cut off")
  func endlessBody() async throws {
    try await Self.serving { running in
      let connection = try RawConnection(port: running.http)
      connection.send(
        "POST /v1/pokes/com.example.a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 209715200\r\n\r\n")
      let sender = Task {
        let part = [UInt8](repeating: 0x61, count: 64 << 10)
        var sent = 0
        while !Task.isCancelled, connection.send(part) {
          sent += part.count
          await Task.yield()
        }
        return sent
      }
      _ = await connection.untilClosed()
      sender.cancel()
      // Four times the largest payload, and what the sockets of both ends hold: far from what it announced.
      #expect(await sender.value < 64 << 20)
    }
  }

  @Test(
    "Every route wants a loopback Host",
    arguments: ["127.+1.0.1", "evil.example", "127.0.0.1.evil.example", "0.0.0.0", "127.0.0.01", ""])
  func foreignHost(host: String) async throws {
    try await Self.serving { running in
      for (route, token) in [("GET /metrics", Self.metricsToken), ("POST /v1/pokes/com.example.a", Self.token)] {
        let connection = try RawConnection(port: running.http)
        connection.send(
          "\(route) HTTP/1.1\r\nHost: \(host)\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n")
        let answer = String(decoding: await connection.untilClosed(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 421"), "\(answer)")
      }
    }
  }
}
