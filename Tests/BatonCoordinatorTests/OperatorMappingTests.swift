import BatonBase
import BatonModel
import BatonProtobuf
import BatonStore
import GRPCCore
import SwiftProtobuf
import Testing

@testable import BatonCoordinator
@testable import BatonWire

/// What operators are answered says the same behind the wire.
@Suite struct OperatorMappingTests {
  private static func record(_ number: Int) -> RequestRecord {
    RequestRecord(
      id: RequestID(Int64(number)), identifier: JobIdentifier("com.example.a")!, number: number,
      definition: DefinitionID(1), pattern: IdentifierPattern("com.example.*")!, kind: .processing, state: .ready,
      priority: .utility, submittedAt: Timestamp(nanoseconds: 1), principal: "ada",
      eligibleAt: Timestamp(nanoseconds: 2), isDated: true, launches: 1,
      progress: Progress(batches: 6, completedUnits: 6, totalUnits: 9), ledger: Ledger(),
      trace: TraceContext(
        traceID: TraceID(high: 1, low: 1), spanID: SpanID(2), isSampled: true),
      skippedBatches: [3, 4], skippedUnits: 2)
  }

  @Test func `a request keeps its skipped batches, the one that waits beside it and where earlier output is`() throws {
    let details = RequestDetails(
      record: Self.record(2), launches: [], events: [], position: 4, waiting: Self.record(3), earlierOutput: 1)
    #expect(try RequestDetails(details.proto) == details)
    let plain = RequestDetails(record: Self.record(2), launches: [], events: [])
    #expect(try RequestDetails(plain.proto) == plain)
  }

  @Test func `the shards of skipped batches, and a host that is away, arrive as they were sent`() throws {
    var record = Self.record(2)
    record.skippedShards = [0, 7]
    (record.scheduledAt, record.isBackfill) = (Timestamp(nanoseconds: 3), true)
    record.hostAway = HostAway(since: Timestamp(nanoseconds: 5), leaseUntil: Timestamp(nanoseconds: 9))
    #expect(try RequestRecord(record.proto) == record)
  }

  @Test(arguments: [
    Obstacle.notBefore(Timestamp(nanoseconds: 7)), .rateLimited(until: Timestamp(nanoseconds: 7)),
    .backingOff(until: Timestamp(nanoseconds: 7)), .waitsForLiveRequest(number: 3), .waitsForTransfers,
    .transfersLimited(until: Timestamp(nanoseconds: 7)),
    .schedulePaused(SchedulePause(by: "ana", since: Timestamp(nanoseconds: 7), reason: "the disk is full")),
  ])
  func `why a request waits arrives as it was sent`(obstacle: Obstacle) throws {
    var record = Self.record(2)
    (record.state, record.waitsBecause) = (.scheduled, obstacle)
    #expect(try RequestRecord(record.proto).waitsBecause == obstacle)
  }

  @Test(arguments: [.min, -1, 9_183_110_400 * 1_000_000_000, .max] as [Int64])
  func `a submission with a date that no job file can have is refused`(nanoseconds: Int64) throws {
    let item = Baton_V1_SubmitRequest.Item.with {
      ($0.id, $0.identifier, $0.earliestAt) = ("1", "com.example.a", nanoseconds)
    }
    #expect(throws: WireError.self) { try SubmissionOrder(item) }
  }

  @Test func `every time can be written as a date`() {
    #expect(Timestamp(nanoseconds: .min).rfc3339 == "1677-09-21T00:12:43.145Z")
    #expect(Timestamp(nanoseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp(nanoseconds: .max).rfc3339 == "2262-04-11T23:47:16.854Z")
  }

  @Test func `the items of batches arrive as they were sent, and those that cannot be are refused`() throws {
    let list = BatchList(
      [
        BatchItems(shard: 3, batch: 1, range: 10..<22, total: 40, items: ["a", "b"], last: "z"),
        BatchItems(batch: 0, range: 0..<1, total: 1, items: ["a"]),
      ], leftOut: 4)
    #expect(try BatchList(list.proto) == list)
    var proto = list.proto
    proto.batches[0].count = -1
    #expect(throws: (any Error).self) { try BatchList(proto) }
    proto.batches[0].first = .max
    proto.batches[0].count = 1
    #expect(throws: (any Error).self) { try BatchList(proto) }
  }

  @Test(arguments: [
    OperatorError.notFound("n"), .conflict("c"), .invalid("i"), .notPermitted("p"), .unknown("u"),
    .overloaded("o", retryAfter: .milliseconds(250)), .refused(.unavailable("a")),
  ])
  func `an error is the same error to the client`(error: OperatorError) throws {
    let endpoint = try HostPort(parsing: "127.0.0.1:7420")
    #expect(RPCError(error).meaning(at: endpoint) as? OperatorError == error)
  }

  @Test(arguments: RequestChoice.allCases) func `a choice is the same choice`(choice: RequestChoice) {
    #expect(RequestChoice(choice.proto) == choice)
    #expect(RequestChoice(.UNRECOGNIZED(77)) == .current)
  }

  @Test func `a backup's progress and summary arrive as they were sent`() {
    let progress = BackupProgress(pages: 3, totalPages: 9)
    #expect(BackupProgress(progress.proto) == progress)
    let summary = BackupSummary(
      path: "/a.sqlite", bytes: 1 << 40, receipt: Receipt(store: "3f0a", tenure: 7, sequence: 1 << 50))
    #expect(BackupSummary(summary.proto) == summary)
  }

  @Test func `a move's progress and summary arrive as they were sent`() {
    for step in [nil] + StoreMove.Step.allCases.map(Optional.some) {
      let progress = StoreMove.Progress(reached: step, table: "request", rows: 3, totalRows: 1 << 40)
      #expect(StoreMove.Progress(progress.proto) == progress)
    }
    #expect(StoreMove.Step(.UNRECOGNIZED(77)) == nil)
    let summary = StoreMove.Summary(requests: 1 << 40, rows: 1 << 41)
    #expect(StoreMove.Summary(summary.proto) == summary)
  }
}
