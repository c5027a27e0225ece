import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator

/// Which items a batch has.
@Suite struct BatchItemsTests {
  private static let name = JobIdentifier("com.example.a")!

  /// A coordinator that has one request of a definition with these items, which has not been launched.
  private static func fixture(_ items: Items?, batchSize: Int = 4) async throws -> OperatorFixture {
    let fixture = try OperatorFixture()
    var definition = Definition(pattern: IdentifierPattern(name), kind: .processing)
    definition.work = Work(command: ["x"], items: items, batchSize: batchSize)
    _ = try await fixture.coordinator.apply([definition])
    _ = try await fixture.submit()
    return fixture
  }

  private static func batches(_ fixture: OperatorFixture, _ batch: Int?, shard: Int? = nil) async throws -> BatchList {
    try await fixture.coordinator.batches(name, number: nil, shard: shard, batch: batch)
  }

  @Test func `a batch has the items at its place, and the last one may have fewer`() async throws {
    let fixture = try await Self.fixture(.range(1...10))
    #expect(
      try await Self.batches(fixture, nil)
        == BatchList([BatchItems(batch: 0, range: 0..<4, total: 10, items: ["1", "2", "3", "4"])]))
    #expect(
      try await Self.batches(fixture, 2)
        == BatchList([BatchItems(batch: 2, range: 8..<10, total: 10, items: ["9", "10"])]))
  }

  @Test func `of a large batch the first items and the last one are named`() async throws {
    let fixture = try await Self.fixture(.list((0..<100).map { "item \($0)" }), batchSize: 50)
    let batch = try #require(try await Self.batches(fixture, 1).batches.first)
    #expect(batch.range == 50..<100)
    #expect(batch.items == (50..<60).map { "item \($0)" })
    #expect(batch.last == "item 99")
  }

  @Test func `the largest range that there can be has batches too`() async throws {
    let fixture = try await Self.fixture(.range((.max - 999_999_999)...Int64.max), batchSize: 3)
    let last = try #require(try await Self.batches(fixture, 333_333_333).batches.first)
    #expect(last.items == [String(Int64.max)])
  }

  @Test func `what has no such batch says so`() async throws {
    let fixture = try await Self.fixture(.range(1...10))
    await #expect(throws: OperatorError.conflict("request 1 of 'com.example.a' has 3 batches, counted from 0")) {
      try await Self.batches(fixture, 3)
    }
    await #expect(
      throws: OperatorError.conflict(
        "request 1 of 'com.example.a' was not divided, so it has no shards: leave the shard out")
    ) { try await Self.batches(fixture, 0, shard: 1) }
    let plain = try await Self.fixture(nil)
    await #expect(
      throws: OperatorError.conflict(
        "request 1 of 'com.example.a' has no items: a batch is what it does between two checkpoints")
    ) { try await Self.batches(plain, 0) }
    let expanded = try await Self.fixture(.glob("*.jpg"))
    await #expect(
      throws: OperatorError.conflict(
        "the items of request 1 of 'com.example.a' are not known yet: its first launch looks for them")
    ) { try await Self.batches(expanded, 0) }
  }

  @Test func `each shard counts its own batches, within its own items`() throws {
    let plan = BatchPlan(name: "it", items: .range(1...100), size: 4, total: 100)
    let part = BatchPlan.Part(shard: 2, units: 50..<59, next: 1)
    #expect(try plan.range(of: nil, in: part) == (batch: 1, items: 54..<58))
    #expect(try plan.range(of: 2, in: part) == (batch: 2, items: 58..<59))
    #expect(throws: OperatorError.conflict("shard 2 of it has 3 batches, counted from 0")) {
      try plan.range(of: 3, in: part)
    }
  }
}
