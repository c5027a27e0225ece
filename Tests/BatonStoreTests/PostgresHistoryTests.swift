import BatonPostgres
import Testing

@testable import BatonStore

/// A coordinator that starts notices that the server has another history than at the start before.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint)) struct PostgresHistoryTests {
  private func history(_ address: PostgresAddress) async throws -> PostgresHistory? {
    let store = try TestDatabase.open(address)
    defer { Task { try await store.close() } }
    try await store.leave()
    return store.history
  }

  private func change(_ sql: String, in address: PostgresAddress) throws {
    let connection = try PostgresConnection.connect(to: address, deadline: .now + .seconds(30))
    defer { connection.close() }
    try connection.script(sql, deadline: .now + .seconds(30))
  }

  private func read(_ address: PostgresAddress) throws -> PostgresHistory? {
    let connection = try PostgresConnection.connect(to: address, deadline: .now + .seconds(30))
    defer { connection.close() }
    return try PostgresHistory.read(connection, deadline: .now + .seconds(30))
  }

  @Test func aChangeOfTheTimelineIsToldOnce() async throws {
    let address = try TestDatabase.make()
    #expect(try await history(address) == nil)
    #expect(try await history(address) == nil)
    #expect(try #require(try read(address)).change == nil)
    // As if the store had been written on an earlier timeline.
    try change("UPDATE baton_server SET timeline = timeline - 1", in: address)
    #expect(try #require(try read(address)).noticedAt == nil)
    let told = try #require(try await history(address))
    #expect(told.change?.hasPrefix("the server's timeline is 1, and was 0: a standby has taken over") == true)
    #expect(try await history(address) == nil)
    #expect(try read(address) == told && told.noticedAt?.hasSuffix("Z") == true)
  }

  @Test func anotherServerIsTold() async throws {
    let address = try TestDatabase.make()
    _ = try await history(address)
    try change("UPDATE baton_server SET system = 7", in: address)
    #expect(try await history(address)?.change?.contains("on another server than before") == true)
  }
}
