import BatonBase
import BatonModel
import BatonTelemetry
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
  /// The daemon around the service: whether it is ready, and how often its metrics were read.
  private final class World: Sendable {
    let isReady = Mutex(true)
    let scrapes = Mutex(0)

    func snapshot() -> MetricsSnapshot {
      let number = scrapes.withLock { scrapes in
        scrapes += 1
        return scrapes
      }
      return MetricsSnapshot(
        [MetricFamily(Names.Metric.readyOldest, Double(number))], startedAt: Timestamp(nanoseconds: 0),
        takenAt: Timestamp(nanoseconds: 0))
    }
  }

  private static let token = String(repeating: "0123456789abcdef", count: 4)
  private static let metricsToken = MetricsToken.derived(from: token)

  private struct Answer: Equatable {
    var status: Int
    var type: String?
    var text: String

    init(_ status: Int, _ type: String?, _ text: String) { (self.status, self.type, self.text) = (status, type, text) }
  }

  /// Runs the service while `body` runs, and hands a client and the port to `body`.
  private static func serving(
    _ world: World = World(), token: String? = metricsToken, metrics: Bool = true,
    routes: @escaping @Sendable (HTTPService.Routes) -> Void = { _ in },
    _ body: @escaping @Sendable (TestClient, Int) async throws -> Void
  ) async throws {
    let (addresses, listening) = AsyncStream<HostPort>.makeStream()
    let service = try HTTPService(
      HostPort(host: "127.0.0.1", port: 0), metricsToken: { token }, isReady: { world.isReady.withLock { $0 } },
      metrics: metrics ? { @Sendable in world.snapshot() } : nil, logger: Logger(label: "test"), routes: routes,
      onListening: { listening.yield($0) })
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
    authorization: String? = "Bearer \(metricsToken)"
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
      try await Self.expect(client, "/readyz", 503, "not ready\n")
    }
  }

  @Test("`/metrics` is the snapshot of that moment, in Prometheus's format and with its media type")
  func metrics() async throws {
    let world = World()
    try await Self.serving(world) { client, _ in
      for number in 1...2 {
        let answer = try await Self.answer(client, "/metrics")
        #expect(answer.status == 200 && answer.type == "text/plain; version=0.0.4; charset=utf-8")
        #expect(
          answer.text.hasSuffix("# TYPE baton_ready_oldest_seconds gauge\nbaton_ready_oldest_seconds \(number)\n"))
      }
    }
  }

  @Test(
    "`/metrics` names definitions, so it needs the metrics token, not the fleet's; health needs none",
    arguments: [
      nil, "", "Bearer ", metricsToken, "Bearer \(metricsToken)0", "bearer \(metricsToken)", "Basic \(metricsToken)",
      "Bearer \(token)",
    ])
  func needsToken(authorization: String?) async throws {
    let world = World()
    try await Self.serving(world) { client, _ in
      let answer = try await Self.answer(client, "/metrics", authorization: authorization)
      #expect(answer.status == 401 && answer.text.contains("Authorization: Bearer TOKEN"))
      #expect(
        answer.text.contains("metrics-token") && answer.text.contains("Do not send the fleet's own token to this port"))
      #expect(world.scrapes.withLock { $0 } == 0)
      for path in ["/healthz", "/readyz"] {
        let health = try await Self.answer(client, path, authorization: authorization)
        #expect(health.status == 200)
      }
    }
  }

  @Test(
    "A daemon that has no token shows its metrics to nobody", arguments: [nil, "", "Bearer ", "Bearer \(metricsToken)"])
  func hasNoToken(authorization: String?) async throws {
    let world = World()
    try await Self.serving(world, token: nil) { client, _ in
      let answer = try await Self.answer(client, "/metrics", authorization: authorization)
      #expect(answer.status == 401)
      #expect(world.scrapes.withLock { $0 } == 0)
    }
  }

  @Test(
    "A client that names this machine reads the metrics; a page in a browser, which has another name, does not",
    arguments: [
      ("127.0.0.1", 200), ("127.0.0.1:7421", 200), ("localhost", 200), ("localhost:80", 200), ("[::1]", 200),
      ("[::1]:7421", 200), ("evil.example", 421), ("evil.example:7421", 421), ("127.0.0.1.evil.example", 421),
      ("localhost.evil.example:80", 421), ("10.0.0.1", 421), ("[::2]", 421), ("0.0.0.0", 421), ("", 421),
      ("127.+1.0.1", 421), ("127.0.0.01", 421), ("0127.0.0.1", 421), ("127.1", 421), ("2130706433", 421),
      ("127.0.0.1:+80", 421), ("127.0.0.1:80:80", 421), ("evil.example@127.0.0.1", 421), ("localhost.", 421),
      ("127.0.0.1.", 421), ("[127.0.0.1", 421), ("[::ffff:127.0.0.1]", 421), ("*.localhost", 421),
    ])
  func hosts(host: String, status: Int) async throws {
    let world = World()
    let things: @Sendable (HTTPService.Routes) -> Void = { routes in
      routes.post("/v1/things") { request, _ in request.isForLoopback ? "thing\n" : Request.notForLoopback }
    }
    try await Self.serving(world, routes: things) { client, _ in
      let answer = try await Self.answer(client, "/metrics", host: host)
      #expect(answer.status == status)
      #expect(answer.text.contains("baton_") == (status == 200))
      #expect(world.scrapes.withLock { $0 } == (status == 200 ? 1 : 0))
      let thing = try await Self.answer(client, "/v1/things", host: host, method: .post)
      #expect((thing.text == "thing\n") == (status == 200))
      let health = try await Self.answer(client, "/healthz", host: host)
      #expect(health.status == 200)
    }
  }

  @Test("Nothing is changed by way of these routes", arguments: ["/healthz", "/readyz", "/metrics"])
  func readOnly(path: String) async throws {
    let world = World()
    try await Self.serving(world) { client, _ in
      for method in [HTTPRequest.Method.post, .put, .delete] {
        let status = try await Self.answer(client, path, method: method).status
        #expect(status == 404)
      }
      #expect(world.scrapes.withLock { $0 } == 0)
    }
  }

  @Test("A daemon without metrics has no such route")
  func noMetrics() async throws {
    try await Self.serving(metrics: false) { client, _ in
      try await Self.expect(status: 404, client, "/metrics")
    }
  }

  @Test("Routes of a daemon's own stand beside these")
  func routes() async throws {
    let things: @Sendable (HTTPService.Routes) -> Void = { $0.post("/v1/things") { _, _ in "thing\n" } }
    try await Self.serving(routes: things) { client, _ in
      let thing = try await Self.answer(client, "/v1/things", method: .post)
      #expect(thing.text == "thing\n")
      try await Self.expect(status: 200, client, "/healthz")
    }
  }

  @Test("A port that is taken is named, with what to do")
  func taken() async throws {
    let first = Mailbox<HostPort>(capacity: 1)
    func service(_ endpoint: HostPort) throws -> HTTPService {
      try HTTPService(
        endpoint, metricsToken: { nil }, isReady: { true }, metrics: nil, logger: Logger(label: "test"),
        onListening: { first.send($0) })
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
      _ = try HTTPService(
        endpoint, metricsToken: { nil }, isReady: { true }, metrics: nil, logger: Logger(label: "test"))
    }
    #expect(error?.description.contains("\(endpoint) is not loopback") == true)
    #expect(error?.description.contains("127.0.0.1:7431") == true)
  }

  @Test("A port that another has is an error, not a wait")
  func inUse() async throws {
    try await Self.serving { _, port in
      let second = try HTTPService(
        HostPort(host: "127.0.0.1", port: port), metricsToken: { nil }, isReady: { true }, metrics: nil,
        logger: Logger(label: "test"))
      await #expect(throws: (any Error).self) { try await second.run() }
    }
  }
}
