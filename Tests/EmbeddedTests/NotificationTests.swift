import BatonBase
import BatonHandler
import BatonNotifier
import BatonStore
import BatonWorker
import FalseServer
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator
@testable import BatonModel

/// What receivers get from a coordinator and a worker that run, however bad the receivers are.
@Suite("Notifications", .timeLimit(.minutes(10)))
struct NotificationTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  private static let ops = ReceiverName("ops")!
  private static let secret = WebhookSecret(file: Array("0123456789abcdef".utf8))!

  /// A request that a receiver has got.
  private struct Arrival: Hashable {
    var id: String
    var body: String
    var job: String
    var event: String
  }

  /// A receiver that answers as the test wants, and remembers what it got.
  private final class Receiver: Sendable {
    /// Each request, and what was accepted of them.
    private final class Book: Sendable {
      let got = Mutex<[Arrival]>([])
      let kept = Mutex<[Arrival]>([])
    }

    private let book: Book
    private let server: FalseServer
    var got: [Arrival] { book.got.withLock { $0 } }
    var kept: [Arrival] { book.kept.withLock { $0 } }

    /// - Parameter answer: decides by the number of the request, from 1; `nil` accepts.
    init(_ answer: @escaping @Sendable (Int) -> FalseAnswer?) async throws {
      let book = Book()
      self.book = book
      server = try await FalseServer { request in
        let facts = try? JSONDecoder().decode(JobNotification.self, from: Data(request.body))
        let arrival = Arrival(
          id: request.fields["webhook-id"] ?? "", body: String(decoding: request.body, as: UTF8.self),
          job: facts?.identifier?.rawValue ?? "", event: facts?.event.rawValue ?? "")
        let number = book.got.withLock { got in
          got.append(arrival)
          return got.count
        }
        if let answer = answer(number) { return answer }
        book.kept.withLock { $0.append(arrival) }
        return FalseAnswer(200, [("Content-Length", "0")])
      }
    }

    func sender() throws -> WebhookSender {
      try WebhookSender(
        to: WebAddress(server.origin + "/in")!, secret: NotificationTests.secret, timeout: .seconds(3600))
    }

    func stop() async { await server.stop() }
  }

  /// A clock that runs a hundred times as fast, so that waits of seconds take hundredths.
  private static let fast: Clocks = {
    let start = SystemClocks.instant()
    return Clocks(
      instant: { start + (SystemClocks.instant() - start) * 100 },
      sleep: { try await Task.sleep(for: $0 / 100) }, date: { SystemClocks.date() })
  }()

  private func fleet(
    _ senders: [String: any NotificationSending], on store: SQLiteStore? = nil, _ rule: NotifyRule = NotifyRule()
  ) throws -> (Fleet, SQLiteStore) {
    var limits = StoreLimits()
    limits.notify = rule
    let store = try store ?? SQLiteStore.inMemory(limits: limits)
    var settings = CoordinatorSettings(leaseTerm: .seconds(1_000_000))
    settings.notifications = NotificationSettings(
      receivers: Dictionary(uniqueKeysWithValues: senders.map { (ReceiverName($0.key)!, $0.value) }))
    settings.knowsReceivers = true
    return (
      Fleet(coordinator: Coordinator(store: store, settings: settings, clocks: Self.fast, logger: Fleet.quiet)), store
    )
  }

  private static func definition(_ name: String, _ change: (inout NotifyRule) -> Void) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name)!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.retry.limit = 0
    var rule = NotifyRule()
    change(&rule)
    definition.notify = rule
    return definition
  }

  /// Runs jobs that succeed and one that fails, and returns when the outbox is empty.
  private func run(_ fleet: Fleet, _ store: SQLiteStore, jobs: Int = 3) async throws {
    let worker = fleet.worker(
      "one", folder: folder,
      [("com.example.*", { task in if task.identifier.rawValue == "com.example.0" { throw Surprise("no disk") } })])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.*") { ($0.success, $0.failure) = ([Self.ops], [Self.ops]) }
      ])
      for job in 0..<jobs { try await fleet.submit("com.example.\(job)") }
      for job in 0..<jobs { _ = try await fleet.ended("com.example.\(job)") }
      try await Self.empty(store)
    }
  }

  /// Returns when nothing waits to be sent.
  private static func empty(_ store: SQLiteStore) async throws {
    while try await store.notifications(limit: 0).waitingCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
  }

  private static func answer(_ status: Int) -> FalseAnswer { FalseAnswer(status, [("Content-Length", "0")]) }

  @Test("A receiver that is down, lies, and ends connections gets everything, duplicates with the same id")
  func bad() async throws {
    let receiver = try await Receiver { number in
      switch number {
      case 1, 4: return Self.answer(503)
      case 2: return FalseAnswer(302, [("Location", "/elsewhere"), ("Content-Length", "0")])
      case 3, 5, 7:
        // It has got the notification, and is killed before its answer has come.
        var answer = FalseAnswer(0)
        answer.turn = (0, .reset)
        return answer
      case 6: return FalseAnswer(200, [("Content-Length", "-7")])
      default: return nil
      }
    }
    let (fleet, store) = try fleet(["ops": try receiver.sender()])
    try await run(fleet, store)
    await receiver.stop()
    let (got, kept) = (receiver.got, receiver.kept)
    let told = ["com.example.0 failure", "com.example.1 success", "com.example.2 success"]
    #expect(Set(kept.map { "\($0.job) \($0.event)" }) == Set(told))
    #expect(Set(kept.map(\.id)).count == 3, "what was accepted has three ids")
    #expect(got.count > kept.count, "no attempt has failed")
    for (_, same) in Dictionary(grouping: got, by: \.job) {
      #expect(Set(same.map(\.id)).count == 1, "an attempt has another id: \(same)")
      #expect(Set(same.map(\.body)).count == 1, "an attempt has another body: \(same)")
    }
    #expect(try await store.notifications(limit: 9).failedCount == 0)
  }

  @Test("A receiver that never answers holds up no other one")
  func slow() async throws {
    let silent = try await Receiver { _ in
      var answer = FalseAnswer(200)
      answer.thought = 3_600_000
      return answer
    }
    let quick = try await Receiver { _ in nil }
    var rule = NotifyRule()
    rule.success = [ReceiverName("silent")!]
    let (fleet, store) = try fleet(["ops": try quick.sender(), "silent": try silent.sender()], rule)
    let worker = fleet.worker("one", folder: folder, [("com.example.*", { _ in })])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([Self.definition("com.example.*") { $0.success = [Self.ops] }])
      for job in 0..<9 {
        try await fleet.submit("com.example.\(job)")
        _ = try await fleet.ended("com.example.\(job)")
      }
      while quick.kept.count < 9 { try await Task.sleep(for: .milliseconds(5)) }
      while try await store.notifications(limit: 0).waitingCount > 9 { try await Task.sleep(for: .milliseconds(5)) }
      let list = try await store.notifications(limit: 99)
      #expect(Set(list.waiting.map(\.key.receiver.rawValue)) == ["silent"])
      #expect(list.waiting.count == 9)
    }
    #expect(silent.got.count <= ReceiverStanding.atOnce)
    await silent.stop()
    await quick.stop()
  }

  /// A receiver that is never there.
  private struct Absent: NotificationSending {
    var kind: ReceiverKind { .command }
    var place: String { "nowhere" }
    func send(_ notification: OutgoingNotification) async -> DeliveryVerdict { .refused("down") }
  }

  @Test("What a receiver is told of one request comes in order, also from the next coordinator")
  func order() async throws {
    let receiver = try await Receiver { $0 % 3 == 0 ? nil : Self.answer(500) }
    var job = Self.definition("com.example.poison") { ($0.skippedBatch, $0.success) = ([Self.ops], [Self.ops]) }
    job.work = Work(command: ["/bin/sh", "-c", "test $BATON_BATCH != 1"], items: .range(1...3))
    (job.retry.limit, job.retry.skipBatchAfter, job.retry.backoff) = (1, 1, .zero)
    let (first, store) = try fleet(["ops": Absent()])
    let worker = first.worker("one", folder: folder)
    try await first.run([worker]) { [job] in
      _ = try await first.coordinator.apply([job])
      try await first.submit("com.example.poison")
      _ = try await first.ended("com.example.poison")
      while try await store.notifications(limit: 9).waiting.first?.attempts ?? 0 == 0 {
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    let waiting = try await store.notifications(limit: 9).waiting
    #expect(waiting.map(\.key.position) == [1, 2])
    let (second, _) = try fleet(["ops": try receiver.sender()], on: store)
    try await second.run([]) { try await Self.empty(store) }
    await receiver.stop()
    #expect(receiver.kept.map(\.event) == ["skippedBatch", "success"])
    #expect(receiver.kept.map(\.id) == waiting.map(\.id), "the ids are those of the rows")
    #expect(
      receiver.got.map(\.event) == Array(repeating: "skippedBatch", count: 3) + Array(repeating: "success", count: 3))
  }

  @Test("A definition that names another receiver is refused, and one that is gone is seen as failed")
  func unknown() async throws {
    let receiver = try await Receiver { _ in nil }
    let (fleet, _) = try fleet(["ops": try receiver.sender()])
    await #expect(throws: OperatorError.self) {
      _ = try await fleet.coordinator.apply([Self.definition("com.example.*") { $0.failure = [ReceiverName("opz")!] }])
    }
    let answer = try await fleet.coordinator.testReceiver(Self.ops)
    #expect(answer == ReceiverAnswer(isAccepted: true, text: "HTTP 200"))
    #expect(receiver.kept.map(\.event) == ["test"])
    await #expect(throws: OperatorError.self) { _ = try await fleet.coordinator.testReceiver(ReceiverName("opz")!) }
    await receiver.stop()
    let down = try await fleet.coordinator.testReceiver(Self.ops)
    // The client may not have seen yet that its connection was closed, or sees it while it writes.
    let texts = ["Connection refused", "Remote connection closed", "I/O on closed channel"]
    #expect(!down.isAccepted && texts.contains(down.text), "\(down)")
  }
}
