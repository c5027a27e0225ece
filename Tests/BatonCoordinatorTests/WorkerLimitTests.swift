import BatonBase
import BatonModel
import BatonStore
import BatonWire
import GRPCCore
import Logging
import Testing

@testable import BatonCoordinator

/// How many workers a coordinator takes: 10,000, and one stream of each.
@Suite struct WorkerLimitTests {
  @Test func `ten thousand workers are taken, and not one more until one leaves`() {
    var streams = StreamCount()
    let limit = CoordinatorSettings().workers
    #expect(limit == 10_000)
    for index in 0..<limit {
      let isTaken = streams.open(atMost: limit) && streams.claim(HostName("host-\(index)"), atMost: limit)
      #expect(isTaken)
    }
    func claims(_ host: String) -> Bool { streams.open(atMost: limit) && streams.claim(HostName(host), atMost: limit) }
    #expect(!claims("one-more"))
    #expect(claims("host-7"), "one that comes back is no other one")
    streams.close(of: HostName("host-7"))
    #expect(!claims("one-more"), "its other stream is still there")
    streams.close(of: HostName("host-7"))
    #expect(claims("one-more"))
  }

  @Test func `streams that say nothing have a bound too`() {
    var streams = StreamCount()
    func opens() -> Bool { streams.open(atMost: 3) }
    for _ in 0..<6 { #expect(opens()) }
    #expect(!opens())
    streams.close(of: nil)
    #expect(opens())
  }

  // MARK: On a coordinator

  private func coordinator(workers: Int) async throws -> Coordinator {
    var settings = CoordinatorSettings()
    settings.workers = workers
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let coordinator = Coordinator(store: try SQLiteStore.inMemory(), settings: settings, logger: logger)
    try await coordinator.restore()
    return coordinator
  }

  /// Says hello, and returns what comes of it until the worker is welcomed or refused.
  private func connect(
    _ host: String, to coordinator: Coordinator, _ group: inout ThrowingTaskGroup<Void, any Error>
  ) async throws -> (connection: Connection, answer: CoordinatorMessage?) {
    let connection = Connection()
    group.addTask { try await coordinator.serve(connection, from: "127.0.0.1:9") }
    connection.up.send(.hello(Desk.hello(host, host + "1")))
    while let messages = await connection.down.receive() {
      for message in messages {
        switch message {
        case .welcome, .refused: return (connection, message)
        default: break
        }
      }
    }
    return (connection, nil)
  }

  private func isWelcome(_ message: CoordinatorMessage?) -> Bool {
    if case .welcome? = message { true } else { false }
  }

  @Test func `a worker too many is told why, and taken when there is room`() async throws {
    let coordinator = try await coordinator(workers: 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let first = try await connect("a", to: coordinator, &group)
      let second = try await connect("b", to: coordinator, &group)
      #expect(isWelcome(first.answer) && isWelcome(second.answer))
      let third = try await connect("c", to: coordinator, &group)
      guard case .refused(let text, isFinal: false)? = third.answer else {
        Issue.record("it was taken: \(String(describing: third.answer))")
        return
      }
      #expect(text.hasPrefix("2 workers are connected"))
      first.connection.close()
      // The first two tasks to end are the refused one's and the one that was closed.
      for _ in 0..<2 { try await group.next() }
      let again = try await connect("c", to: coordinator, &group)
      #expect(isWelcome(again.answer))
      for connection in [second.connection, again.connection] { connection.close() }
      try await group.waitForAll()
    }
  }

  @Test func `streams that ended without a word take no room`() async throws {
    let coordinator = try await coordinator(workers: 1)
    for _ in 0..<5 {
      let connection = Connection()
      connection.close()
      try await coordinator.serve(connection, from: "127.0.0.1:9")
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      let worker = try await connect("a", to: coordinator, &group)
      #expect(isWelcome(worker.answer))
      worker.connection.close()
      try await group.waitForAll()
    }
  }

  @Test(.timeLimit(.minutes(10))) func `a worker that is refused for a wrong message has left`() async throws {
    let coordinator = try await coordinator(workers: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let worker = try await connect("a", to: coordinator, &group)
      var conditions = Conditions.assumed
      let labels = (0...WireLimits.labels.most).map { ("label-\($0)", "value") }
      conditions.labels = Reading(Dictionary(uniqueKeysWithValues: labels), source: "test")
      worker.connection.up.send(.conditions(conditions))
      try await group.waitForAll()
      #expect(coordinator.hosts().map(\.state.link) == [.away])
    }
  }

  @Test func `a worker has one stream: a second one of the same process takes the place of the first`() async throws {
    let coordinator = try await coordinator(workers: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let first = try await connect("a", to: coordinator, &group)
      let second = try await connect("a", to: coordinator, &group)
      #expect(isWelcome(first.answer) && isWelcome(second.answer))
      while await first.connection.down.receive() != nil {}
      #expect(first.connection.up.isClosed)
      #expect(!second.connection.up.isClosed)
      second.connection.close()
      try await group.waitForAll()
    }
  }

  // MARK: What an operator is told

  @Test func `too many waiting writes are answered with when to come again`() throws {
    let status = RPCError(OperatorError.overloaded("4096 writes wait already"))
    #expect(status.code == .resourceExhausted)
    #expect(status.metadata[stringValues: "grpc-retry-pushback-ms"].map { $0 } == ["1000"])
    #expect(
      status.meaning(at: try HostPort(parsing: "127.0.0.1:7420")) as? OperatorError
        == .overloaded("4096 writes wait already", retryAfter: .seconds(1)))
  }
}
