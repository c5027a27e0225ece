import BatonAPI
import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import ContractRows
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
    let identities = try identities(in: folder)
    let coordinator = Coordinator(store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(), logger: logger)
    let ports = Mailbox<(Int, Int)>(capacity: 1)
    let server = try CoordinatorServer(
      coordinator: coordinator, identities: identities,
      addresses: CoordinatorServer.Addresses(workers: any, http: any), token: token, metrics: noMetrics,
      api: HTTPAPI.serve,
      folders: RuntimeFolders(paths: [folder]), descriptors: descriptors,
      logger: logger
    ) { ports.send(($0.workers.port, $0.http?.port ?? 0)) }
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

  private static let any = HostPort(host: "127.0.0.1", port: 0)

  private static func identities(in folder: String) throws -> HostIdentities {
    try HostIdentities(
      authorities: try FleetAuthorities.own(dataFolder: folder, at: SystemClocks.date()), dataFolder: folder)
  }

  /// A page without a line.
  private static let noMetrics = MetricsReader(
    now: { SystemClocks.instant() },
    collect: { MetricsSnapshot([], startedAt: Timestamp(nanoseconds: 0), takenAt: Timestamp(nanoseconds: 0)) })

  private static let quick = DescriptorBudget(limit: 1024, patience: .milliseconds(100))

  // MARK: C2

  /// HTTP/2's first bytes, and an empty SETTINGS frame.
  private static let preface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

  @Test(
    "A connection without a handshake, or with the beginning of one, is closed in time", .refuses(5),
    arguments: [[], [0x16], [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]] as [[UInt8]])
  func silent(bytes: [UInt8]) async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let connection = try RawConnection(port: running.port)
      connection.send(bytes)
      _ = await connection.untilClosed()
    }
  }

  @Test(
    "HTTP: a connection without a request, or with half of one, is closed in time", .refuses(5),
    arguments: ["", "GET / HT"])
  func silentHTTP(text: String) async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let connection = try RawConnection(port: running.http)
      connection.send(text)
      _ = await connection.untilClosed()
    }
  }

  @Test("More silent connections than there are descriptors keep no client out, over the socket or HTTP", .refuses(4))
  func flood() async throws {
    // Ten of one address may be silent at a time.
    let descriptors = DescriptorBudget(limit: 64, patience: .seconds(3600))
    try await Self.serving(descriptors: descriptors) { running in
      var connections: [RawConnection] = []
      for _ in 0..<128 {
        connections.append(try RawConnection(port: running.port))
        connections.append(try RawConnection(port: running.http))
      }
      try await running.ask(nil, running.own)
      // The server has decided about each connection of the flood when all but those that may stay are closed. Until
      // then a connection of the flood could come after the client's, because two threads accept them.
      let kept = descriptors.http.connections
      while connections.enumerated().count(where: { $0.offset % 2 == 1 && $0.element.isClosed }) < 128 - kept {
        await Task.yield()
      }
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
          "\(running.port).sock", "\(running.port).token", "\(running.http).sock",
        ]))
    }
  }

  @Test("Without a socket nothing is sent to a TCP port, also if the token is at hand", .refuses(2))
  func squatted() async throws {
    try await Self.serving { running in
      let squatter = Squatter()
      let squatted = Running(port: squatter.port, http: 0, folder: running.folder, tokenFile: running.tokenFile)
      let error = await #expect(throws: LinkError.self) { try await squatted.ask(running.tokenFile, squatted.own) }
      #expect(error?.code == .unreachable)
      #expect(!squatter.hasVisitors)
    }
  }

  @Test("What listens for workers speaks TLS alone, and serves no operator", .refuses(6))
  func plaintext() async throws {
    try await Self.serving(descriptors: Self.quick) { running in
      let connection = try RawConnection(port: running.port)
      connection.send(Self.preface)
      let answer = await connection.untilClosed()
      // At most an alert of TLS (RFC 8446, section 6): no frame of HTTP/2.
      #expect(answer.isEmpty || answer[0] == 21, "\(answer)")
    }
  }

  @Test("A socket in a folder that others can reach into is not used, and no token is found there", .refuses(3))
  func reachableFolder() async throws {
    try await Self.serving { running in
      try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: running.folder)
      let error = await #expect(throws: LinkError.self) { try await running.ask(nil, running.own) }
      #expect(error?.code == .unreachable)
      #expect(error?.description.contains("chmod 700 \(running.folder)") == true)
    }
  }

  @Test("The token of another coordinator is refused")
  func otherCoordinator() async throws {
    try await Self.serving(token: Self.otherToken) { running in
      let copy = running.folder + "/mine"
      _ = FileManager.default.createFile(
        atPath: copy, contents: Data(Self.token.utf8), attributes: [.posixPermissions: 0o600])
      let error = await #expect(throws: CoordinatorUnreachable.self) { try await running.ask(copy, running.own) }
      #expect(error?.isNotPermitted == true)
      #expect(error?.message.contains("BATON_TOKEN_FILE") == true)
    }
  }

  @Test("On the socket each call has to show the token")
  func eachCall() async throws {
    try await Self.serving { running in
      try await CoordinatorClient.withClient(
        running.endpoint, tokenFile: nil, folders: running.own
      ) { client, metadata in
        try await running.ask(metadata, client)
        let wrong: [Metadata] = [
          [:], ["authorization": "Baton-HMAC "], ["authorization": "Bearer \(Self.otherToken)"],
          ["authorization": "\(Self.token)"],
        ]
        for wrong in wrong {
          let error = await #expect(throws: CoordinatorUnreachable.self) { try await running.ask(wrong, client) }
          #expect(error?.isNotPermitted == true)
        }
        try await running.ask(metadata, client)
      }
    }
  }

  private static func http(_ connection: RawConnection, _ route: String, _ token: String?) async -> String {
    let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    connection.send("\(route) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)Connection: close\r\n\r\n")
    return String(decoding: await connection.untilClosed(), as: UTF8.self)
  }

  @Test("The token opens `/metrics` and pokes on the socket of HTTP; the port without TLS takes it for nothing")
  func opensMetrics() async throws {
    try await Self.serving { running in
      for (route, opened) in [("GET /metrics", "200"), ("POST /v1/pokes/com.example.a", "403")] {
        let socket = { try RawConnection(socket: running.httpSocket) }
        let shown = await Self.http(try socket(), route, Self.token)
        #expect(shown.hasPrefix("HTTP/1.1 \(opened)") && !shown.contains("token"), "\(shown)")
        for wrong in [nil, "", Self.otherToken, Self.token + "0", String(Self.token.dropLast())] {
          let refused = await Self.http(try socket(), route, wrong)
          #expect(refused.hasPrefix("HTTP/1.1 401"), "\(String(describing: wrong)): \(refused)")
        }
        for token in [nil, Self.token, Self.otherToken] {
          let plain = await Self.http(try RawConnection(port: running.http), route, token)
          #expect(plain.hasPrefix("HTTP/1.1 403") && plain.contains("use the setting 'https'"), "\(plain)")
        }
      }
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
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let http = HostPort(host: "localhost", port: squatter.port)
      let server = try CoordinatorServer(
        coordinator: coordinator, identities: try Self.identities(in: folder),
        addresses: CoordinatorServer.Addresses(workers: Self.any, http: http), token: Self.token,
        folders: RuntimeFolders(paths: [folder]), logger: logger
      ) { _ in ready.withLock { $0 += 1 } }
      try await coordinator.restore()
      await #expect(throws: ListenError.self) { try await server.run() }
    }
    #expect(ready.withLock { $0 } == 0)
  }

  @Test("A body that is too long or comes without the token is not waited for")
  func longBody() async throws {
    try await Self.serving { running in
      for (authorization, status) in [("Bearer wrong", "401"), ("Bearer \(Self.token)", "413")] {
        let connection = try RawConnection(socket: running.httpSocket)
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
}
