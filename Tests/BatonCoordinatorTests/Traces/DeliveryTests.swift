import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import Logging
import Synchronization
import Testing

@testable import BatonCoordinator

@Suite("Sending spans from the store")
struct DeliveryTests {
  /// A backend that answers as it is told, and keeps what it was sent.
  final class Backend: Sendable {
    private let state: Mutex<(verdicts: [ExportVerdict], requests: [TraceRequest])>
    init(_ verdicts: ExportVerdict...) { state = Mutex((verdicts, [])) }

    var requests: [TraceRequest] { state.withLock { $0.requests } }

    func take(_ request: TraceRequest) -> ExportVerdict {
      state.withLock { state in
        state.requests.append(request)
        return state.verdicts.isEmpty ? .delivered : state.verdicts.removeFirst()
      }
    }
  }

  private final class Waits: Sendable {
    let all = Mutex<[Duration]>([])
  }

  private static func submit(_ count: Int, to store: SQLiteStore) async throws {
    let now = Moment(Timestamp(nanoseconds: 1_700_000_000_000_000_000))
    let seed = Desk.trace
    let applied = try await store.apply([Desk.job("com.example.*")], seeds: [seed], at: now)
    for index in 0..<count {
      let submission = Submission(
        id: "s\(index)", identifier: JobIdentifier("com.example.j\(index)")!, principal: "ada", trace: seed)
      _ = try await store.submit([SubmissionOffer(submission: submission, definition: applied[0].id)], at: now)
    }
  }

  /// Runs the delivery until it has waited `waits` times, and answers how long.
  /// - Parameters:
  ///   - age: of the spans, in seconds.
  ///   - isBusy: more spans end during each request, and each look at the clock takes a millisecond.
  private func deliver(
    _ backend: Backend, from store: SQLiteStore, batch: Int = 512, age: Int64 = 100, isBusy: Bool = false, waits: Int
  ) async -> [Duration] {
    let taken = Waits()
    let looks = Mutex(Int64(0))
    let clocks = Clocks(
      now: {
        let milliseconds = looks.withLock { looks in
          looks += isBusy ? 1 : 0
          return looks
        }
        return Now(
          instant: Instant(nanoseconds: milliseconds * 1_000_000),
          date: Timestamp(nanoseconds: (1_700_000_000 + age) * 1_000_000_000))
      },
      sleep: { duration in
        let count = taken.all.withLock { all in
          all.append(duration)
          return all.count
        }
        if count > waits { throw CancellationError() }
      })
    let known = Mutex<Coordinator?>(nil)
    var delivery = SpanDelivery(
      resource: Resource([]), draw: { 1 },
      send: { request in
        if isBusy { known.withLock { $0 }?.noteSpans(1) }
        return backend.take(request)
      })
    delivery.batch = BatchLimits(queue: 2048, batch: batch, delay: .seconds(5))
    var settings = CoordinatorSettings()
    settings.spans = delivery
    let coordinator = Coordinator(store: store, settings: settings, clocks: clocks, logger: Self.quiet)
    known.withLock { $0 = coordinator }
    _ = try? await coordinator.deliverSpans(delivery)
    return taken.all.withLock { Array($0.prefix(waits)) }
  }

  private static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  @Test("what was confirmed is not sent again")
  func confirmed() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(5, to: store)
    let backend = Backend()
    _ = await deliver(backend, from: store, waits: 3)
    #expect(backend.requests.map(\.spans.count) == [5])
    #expect(try await store.spanQueue() == SpanQueueRecord())
  }

  @Test("the resource names the last row of the audit log, as 'baton audit verify --head' takes it")
  func auditHead() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(1, to: store)
    let entry = AuditEntry(
      at: Timestamp(nanoseconds: 0), actor: "ada", credential: nil, peer: "unix", method: "Submit", object: "job")
    for _ in 0..<2 { try await store.append(entry) }
    let backend = Backend()
    _ = await deliver(backend, from: store, waits: 2)
    let hash = try await store.auditHead().hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(backend.requests.map { $0.resource["baton.audit.head"] } == [.string("2:\(hash)")])
  }

  @Test("what was not answered is sent again after a backoff, byte for byte the same")
  func again() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(3, to: store)
    let backend = Backend(.unreachable, .retry(after: .seconds(7)), .unreachable)
    let waits = await deliver(backend, from: store, waits: 5)
    #expect(backend.requests.count == 4)
    #expect(Set(backend.requests.map(\.protobuf)).count == 1)
    #expect(waits == [.seconds(5), .seconds(1), .seconds(7), .seconds(4), .seconds(5)])
    #expect(try await store.spanQueue() == SpanQueueRecord())
  }

  @Test("a backend that never answers loses nothing, and the next coordinator sends the same bytes")
  func nextCoordinator() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(3, to: store)
    let silent = Backend(.unreachable, .unreachable, .unreachable, .unreachable)
    _ = await deliver(silent, from: store, waits: 3)
    #expect(try await store.spanQueue().unsent == 3)
    let backend = Backend()
    _ = await deliver(backend, from: store, waits: 2)
    #expect(backend.requests.map(\.protobuf) == [silent.requests[0].protobuf])
  }

  @Test("rejected and partly rejected spans are marked and never sent again")
  func rejected() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(4, to: store)
    let backend = Backend(.rejected(reason: "HTTP 400: no"), .partial(rejected: 1, message: "too old"))
    _ = await deliver(backend, from: store, batch: 2, waits: 3)
    #expect(backend.requests.count == 2)
    let queue = try await store.spanQueue()
    #expect(queue.unsent == 0 && queue.rejected == 4)
  }

  @Test("what is too large for the backend goes in halves, and only what is too large alone is marked")
  func tooLarge() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(7, to: store)
    let no = ExportVerdict.tooLarge(reason: "HTTP 413")
    let backend = Backend(no, no, no, .delivered, .delivered)
    _ = await deliver(backend, from: store, waits: 2)
    // 7 are too many, 3 are, and so is one; then one is not, and what is left.
    #expect(backend.requests.map(\.spans.count) == [7, 3, 1, 1, 5])
    let queue = try await store.spanQueue()
    #expect(queue.unsent == 0 && queue.rejected == 1)
  }

  @Test("a warning of the backend marks nothing")
  func warned() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(1, to: store)
    _ = await deliver(Backend(.partial(rejected: 0, message: "slow down")), from: store, waits: 2)
    #expect(try await store.spanQueue() == SpanQueueRecord())
  }

  @Test("a long queue goes in requests of at most a batch, without a wait between them")
  func batches() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(25, to: store)
    let backend = Backend()
    let waits = await deliver(backend, from: store, batch: 10, waits: 2)
    #expect(backend.requests.map(\.spans.count) == [10, 10, 5])
    #expect(waits == [.seconds(5), .seconds(5)])
    #expect(Set(backend.requests.flatMap(\.spans).map(\.attributes)).count == 25)
  }

  @Test("what was delivered before the backend fails is confirmed, and not sent again")
  func confirmedBeforeFailure() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(25, to: store)
    let backend = Backend(.delivered, .delivered, .unreachable)
    _ = await deliver(backend, from: store, batch: 10, waits: 1)
    #expect(backend.requests.map(\.spans.count) == [10, 10, 5])
    #expect(try await store.spanQueue().unsent == 5)
  }

  @Test("while work goes on it rests between rounds of requests, unless what it sends is late", arguments: [59, 61])
  func rests(age: Int64) async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    try await Self.submit(85, to: store)
    let backend = Backend()
    let waits = await deliver(backend, from: store, batch: 10, age: age, isBusy: true, waits: 4)
    #expect(backend.requests.map(\.spans.count) == [10, 10, 10, 10, 10, 10, 10, 10, 5])
    let rests = Array(waits.dropFirst().prefix(2))
    if age > 60 {
      #expect(rests == [.seconds(5), .seconds(5)])
    } else {
      // A quarter of the time: three times as long as the round took, without the wait for the backend.
      #expect(rests.allSatisfy { $0 > .zero && $0.nanoseconds.isMultiple(of: 3_000_000) }, "\(rests)")
    }
  }

  @Test("a store that was not opened for it queues nothing")
  func off() async throws {
    let store = try SQLiteStore.inMemory()
    try await Self.submit(3, to: store)
    #expect(try await store.spanQueue() == SpanQueueRecord())
  }
}
