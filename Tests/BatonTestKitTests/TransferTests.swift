import BatonHandler
import BatonTestKit
import Foundation
import Synchronization
import Testing

@Suite("Transfers of a request under test", .timeLimit(.minutes(10)))
struct TransferTests {
  private static let url = "https://example.com/a.bin"
  private let server = TestServer()

  /// Launches a handler that keeps the events of each launch.
  private func events(
    of request: TestRequest, then body: @escaping Handler = { _ in }
  ) async throws -> [[JobTransferEvent]] {
    let seen = Mutex<[[JobTransferEvent]]>([])
    try await request.complete { task in
      seen.withLock { $0.append(task.transfers.events) }
      try await body(task)
    }
    return seen.withLock { $0 }
  }

  private func request(_ urls: [String] = [url], clock: ManualClock = ManualClock()) -> TestRequest {
    TestRequest("com.example.fetch", transfers: urls, server: server, clock: clock)
  }

  @Test("an interruption at any byte changes nothing but the time", arguments: 0...20)
  func interruptions(byte: Int) async throws {
    let bytes = (0..<20).map { UInt8($0) }
    server.deliver(Self.url, bytes: bytes, interruptedAt: [byte])
    let request = request()
    let file = try #require(try await events(of: request).first?.first).result.get()
    #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(bytes))
    #expect(file.bytes == 20)
    #expect((request.clock.elapsed > .zero) == (byte < 20), "the wait before the next attempt is on the clock")
  }

  @Test(
    "failures have the codes of a host",
    arguments: [(404, "refusedByServer"), (401, "unauthorized"), (503, "timedOut")])
  func failures(status: Int, code: String) async throws {
    server.refuse(Self.url, status: status)
    let event = try #require(try await events(of: request()).first?.first)
    #expect(throws: JobTransferEvent.Failure.self) { try event.result.get() }
    guard case .failure(let failure) = event.result else { return }
    #expect(failure.code == code)
  }

  @Test("one launch gets the events of a group, and the next one those of what it has added")
  func groups() async throws {
    server.deliver(Self.url, "a")
    server.deliver("https://example.com/b", "b")
    let events = try await events(of: request([Self.url, "https://example.com/missing"])) { task in
      if task.launch == 1 { try task.transfers.add("https://example.com/b", to: "b", group: "more") }
    }
    #expect(events.map { $0.map(\.index) } == [[0, 1], [2]])
  }

  @Test("what no launch has acknowledged is told again, and nothing is added by a launch that fails")
  func toldAgain() async throws {
    server.deliver(Self.url, "a")
    let request = TestRequest("com.example.fetch", transfers: [Self.url], server: server, retries: 1)
    let events = try await events(of: request) { task in
      if task.launch < 3 { try task.transfers.add("https://example.com/b", to: "b") }
      if task.launch == 1 { throw CancellationError() }
    }
    #expect(events.map { $0.map(\.index) } == [[0], [0], [1]])
  }

  @Test("a file that is sent arrives at the server")
  func sends() async throws {
    server.deliver(Self.url, "abc")
    let events = try await events(of: request()) { task in
      guard let file = try task.transfers.events.first?.result.get(), task.launch == 1 else { return }
      try task.transfers.send(file.path, to: "https://example.com/up", group: "up")
    }
    #expect(events.count == 2)
    #expect(server.received("https://example.com/up") == Array("abc".utf8))
  }

  @Test("a request with transfers and without a server says what it needs")
  func noServer() async throws {
    let request = TestRequest("com.example.fetch", transfers: [Self.url])
    let error = await #expect(throws: TestKitError.self) { try await request.complete { _ in } }
    #expect(error?.code == .noServer)
  }
}
