import Foundation
import Testing

@testable import BatonPostgres

@Suite(.timeLimit(.minutes(10)))
struct ThreadTests {
  private struct Unexpected: Error {}

  /// Holds the thread until `release` is called.
  private final class Hold: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    let begun: AsyncStream<Void>
    private let isBegun: AsyncStream<Void>.Continuation

    init() { (begun, isBegun) = AsyncStream.makeStream(of: Void.self) }

    @Sendable func wait() throws -> PostgresConnection {
      isBegun.finish()
      gate.wait()
      throw Unexpected()
    }

    func release() { gate.signal() }
  }

  /// Whether the thread, which has room for no more jobs, would take more.
  private func isOpen(_ thread: PostgresThread) async throws -> Bool {
    let error = try await #require(throws: PostgresError.self) { try await thread.disconnect() }
    return error.kind == .overloaded
  }

  @Test func `without a connection there is nothing to use`() async throws {
    let thread = try PostgresThread(name: "baton-test")
    _ = try await postgresError(.brokenConnection) { try await thread.run { _ in } }
    await #expect(throws: Unexpected.self) { try await thread.connect { throw Unexpected() } }
    _ = try await postgresError(.brokenConnection) { try await thread.run { _ in } }
    await thread.end()
    await thread.end()
    _ = try await postgresError(.ended) { try await thread.run { _ in } }
  }

  @Test func `a queue that is full takes no more jobs, and end waits for those in it`() async throws {
    let thread = try PostgresThread(name: "baton-test", capacity: 2)
    let hold = Hold()
    let carriedOut = await withTaskGroup(of: Int.self) { group in
      group.addTask { (try? await thread.connect(hold.wait)) == nil ? 0 : 1 }
      for await _ in hold.begun {}
      for _ in 0..<2 { group.addTask { (try? await thread.disconnect()) == nil ? 0 : 1 } }
      while thread.waitingCount < 2 { await Task.yield() }
      let error = try? await postgresError(.overloaded) { try await thread.disconnect() }
      #expect(error != nil)
      hold.release()
      return await group.reduce(0, +)
    }
    #expect(carriedOut == 2)
    await thread.end()
  }

  @Test func `jobs that wait are carried out before the end`() async throws {
    let thread = try PostgresThread(name: "baton-test", capacity: 1)
    let hold = Hold()
    let held = Task { try await thread.connect(hold.wait) }
    for await _ in hold.begun {}
    let waiting = Task { try await thread.disconnect() }
    while thread.waitingCount < 1 { await Task.yield() }
    let end = Task {
      await thread.end()
      return thread.waitingCount
    }
    while try await isOpen(thread) { await Task.yield() }
    hold.release()
    await #expect(throws: Unexpected.self) { try await held.value }
    try await waiting.value
    #expect(await end.value == 0)
  }
}

@Suite(.enabled(if: TestServer.isThere, TestServer.hint), .timeLimit(.minutes(10)))
struct ThreadConnectionTests {
  @Test func `jobs share the connection, and are carried out one at a time`() async throws {
    let thread = try PostgresThread(name: "baton-test", capacity: 1_000)
    try await thread.connect { try TestServer.connect() }
    try await thread.run { try $0.script("CREATE TEMPORARY TABLE t (a bigint)", deadline: soon) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for value in 0..<100 {
        group.addTask {
          try await thread.run { connection in
            _ = try connection.rows("BEGIN")
            _ = try connection.rows("INSERT INTO t VALUES ($1)", .integer(Int64(value)))
            _ = try connection.rows("COMMIT")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await thread.run { try $0.integer("SELECT count(DISTINCT a) FROM t") } == 100)
    await thread.end()
  }

  @Test func `a connection that broke is replaced`() async throws {
    let thread = try PostgresThread(name: "baton-test")
    try await thread.connect { try TestServer.connect() }
    let first = try await thread.run { $0.backendPID }
    _ = try await postgresError(.deadline) {
      try await thread.run {
        _ = try $0.run(PostgresStatement("SELECT pg_sleep(600)"), deadline: .now + .milliseconds(50))
      }
    }
    #expect(try await thread.run { $0.isBroken })
    try await thread.connect { try TestServer.connect() }
    #expect(try await thread.run { $0.backendPID } != first)
    await thread.end()
  }

  @Test(arguments: [true, false])
  func `the connection ends with its thread`(isEnded: Bool) async throws {
    var thread: PostgresThread? = try PostgresThread(name: "baton-test")
    try await thread?.connect { try TestServer.connect() }
    let server = try #require(try await thread?.run { $0.backendPID })
    if isEnded { await thread?.end() }
    thread = nil
    let other = try TestServer.connect()
    while try other.integer("SELECT count(*) FROM pg_stat_activity WHERE pid = \(server)") > 0 { await Task.yield() }
  }
}
