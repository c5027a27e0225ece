import BatonBase
import BatonWire
import Hummingbird
import HummingbirdTesting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import BatonHTTP

/// Tests over real connections, on a port that the system chooses.
@Suite struct HTTPServiceTests {
  /// The daemon around the service: whether it is ready.
  private final class World: Sendable {
    let isReady = Mutex(true)
  }

  private struct Answer: Equatable {
    var status: Int
    var type: String?
    var text: String

    init(_ status: Int, _ type: String?, _ text: String) { (self.status, self.type, self.text) = (status, type, text) }
  }

  /// Runs the service while `body` runs, and hands a client and the port to `body`.
  private static func serving(
    _ world: World = World(), routes: @escaping @Sendable (HTTPService.Routes) -> Void = { _ in },
    _ body: @escaping @Sendable (TestClient, Int) async throws -> Void
  ) async throws {
    let (addresses, listening) = AsyncStream<HostPort>.makeStream()
    let service = try HTTPService(
      .plain(HostPort(host: "127.0.0.1", port: 0)),
      readiness: { world.isReady.withLock { $0 } ? .ready : .notReady("it waits") },
      logger: Logger(label: "test"), routes: routes, onListening: { if let address = $0 { listening.yield(address) } })
    let group = ServiceGroup(services: [service], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      tasks.addTask {
        for await address in addresses {
          #expect(address.host == "127.0.0.1" && address.port > 0)
          let client = TestClient(host: "127.0.0.1", port: address.port)
          client.connect()
          defer { listening.finish() }
          do {
            try await body(client, address.port)
          } catch {
            Issue.record(error)
          }
          try await client.shutdown()
          break
        }
        await group.triggerGracefulShutdown()
      }
      try await tasks.waitForAll()
    }
  }

  private static func answer(
    _ client: TestClient, _ path: String, host: String = "127.0.0.1", method: HTTPRequest.Method = .get,
    authorization: String? = nil
  ) async throws -> Answer {
    let headers: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
    let request = TestClient.Request(path, method: method, authority: host, headers: headers)
    let response = try await client.execute(request)
    return Answer(
      response.status.code, response.headers[.contentType], response.body.map { String(buffer: $0) } ?? "")
  }

  private static func expect(
    _ client: TestClient, _ path: String, _ status: Int, _ text: String, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await answer(client, path)
    #expect(answer == Answer(status, "text/plain; charset=utf-8", text), sourceLocation: location)
  }

  private static func expect(
    status: Int, _ client: TestClient, _ path: String, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await answer(client, path)
    #expect(answer.status == status, sourceLocation: location)
  }

  @Test("`/healthz` answers while the process runs")
  func health() async throws {
    try await Self.serving { client, _ in
      try await Self.expect(client, "/healthz", 200, "ok\n")
    }
  }

  @Test("`/readyz` says what the daemon says, each time anew")
  func readiness() async throws {
    let world = World()
    try await Self.serving(world) { client, _ in
      try await Self.expect(client, "/readyz", 200, "ready\n")
      world.isReady.withLock { $0 = false }
      try await Self.expect(client, "/readyz", 503, "not ready: it waits\n")
    }
  }

  @Test("Nothing is changed by way of these routes", arguments: ["/healthz", "/readyz", "/metrics"])
  func readOnly(path: String) async throws {
    try await Self.serving { client, _ in
      for method in [HTTPRequest.Method.post, .put, .delete] {
        let status = try await Self.answer(client, path, method: method).status
        #expect(status == 404)
      }
    }
  }

  @Test("A daemon's own routes are not served without TLS, and what asks for them there is told why")
  func routes() async throws {
    let things: @Sendable (HTTPService.Routes) -> Void = { routes in
      routes.get("/metrics") { _, _ in "metrics\n" }
      routes.post("/v1/things") { _, _ in "thing\n" }
    }
    try await Self.serving(routes: things) { client, _ in
      for (path, method) in [("/metrics", HTTPRequest.Method.get), ("/v1/things", .post), ("/v1/pokes/a", .post)] {
        let answer = try await Self.answer(client, path, method: method, authorization: "Bearer secret")
        #expect(answer.status == 403 && answer.text.contains("use the setting 'https'"), "\(answer)")
      }
      try await Self.expect(status: 200, client, "/healthz")
    }
  }

  @Test("A port that is taken is named, with what to do")
  func taken() async throws {
    let first = Mailbox<HostPort>(capacity: 1)
    func service(_ endpoint: HostPort) throws -> HTTPService {
      try HTTPService(
        .plain(endpoint), readiness: { .ready }, logger: Logger(label: "test"),
        onListening: { if let address = $0 { first.send(address) } })
    }
    let running = Task { try await service(HostPort(host: "127.0.0.1", port: 0)).run() }
    defer { running.cancel() }
    let endpoint = try #require(await first.receive()?.first)
    let error = await #expect(throws: ListenError.self) { try await service(endpoint).run() }
    #expect(error?.code == .addressInUse)
    #expect(error?.description.hasPrefix("\(endpoint) is in use by another program") == true)
  }

  @Test(
    "An address that others reach is refused before anything listens",
    arguments: ["0.0.0.0", "::", "192.168.1.5", "baton.example"])
  func loopback(host: String) throws {
    let endpoint = HostPort(host: host, port: 7431)
    let error = #expect(throws: ListenError.self) {
      _ = try HTTPService(.plain(endpoint), readiness: { .ready }, logger: Logger(label: "test"))
    }
    #expect(error?.description.contains("\(endpoint) is not loopback") == true)
    #expect(error?.description.contains("127.0.0.1:7431") == true)
  }

  @Test("A port that another has is an error, not a wait")
  func inUse() async throws {
    try await Self.serving { _, port in
      let second = try HTTPService(
        .plain(HostPort(host: "127.0.0.1", port: port)), readiness: { .ready }, logger: Logger(label: "test"))
      await #expect(throws: (any Error).self) { try await second.run() }
    }
  }
}
