import BatonModel
import Logging
import Synchronization
import Testing

@testable import BatonTelemetry

/// The shell around `BatchQueue`, with a clock and a backend that the test controls.
@Suite struct SpanQueueTests {
  static let limits = BatchLimits(queue: 6, batch: 2, delay: .seconds(5))
  let clock = ManualClock()

  private func queue(
    _ sender: ScriptedSender, limits: BatchLimits = limits,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) -> SpanQueue {
    SpanQueue(
      limits: limits, resource: Resource([]), sender: sender, clock: clock.clock, draw: { 1 }, logger: logger)
  }

  private func add(_ numbers: ClosedRange<Int>, to queue: SpanQueue) {
    for number in numbers { queue.add(Fixture.span(UInt64(number), name: "\(number)")) }
  }

  @Test func `a full batch goes without waiting, a small one after its delay`() async {
    let sender = ScriptedSender()
    let queue = queue(sender)
    async let run: Void = queue.run()
    var (requests, sleeps) = (sender.requests.makeAsyncIterator(), clock.sleeps.makeAsyncIterator())
    add(1...3, to: queue)
    #expect(await requests.next() == ["1", "2"])
    #expect(await sleeps.next() == .seconds(5))
    clock.advance(.seconds(5))
    #expect(await requests.next() == ["3"])
    queue.shutDown()
    await run
  }

  @Test(.timeLimit(.minutes(10))) func `a queue that has nothing to do notices the next span`() async {
    let sender = ScriptedSender()
    let queue = queue(sender)
    async let run: Void = queue.run()
    var (requests, sleeps) = (sender.requests.makeAsyncIterator(), clock.sleeps.makeAsyncIterator())
    add(1...2, to: queue)
    #expect(await requests.next() == ["1", "2"])
    // Lets `run` come to rest. If it has not, the test still holds.
    for _ in 1...1_000 { await Task.yield() }
    add(3...3, to: queue)
    #expect(await sleeps.next() == .seconds(5))
    queue.shutDown()
    await run
  }

  @Test func `a backend that is away gets the same batch again, when it asked for it`() async {
    let answers = Numbers()
    let sender = ScriptedSender { _ in answers.next() == 1 ? .retry(after: .seconds(7)) : .delivered }
    let queue = queue(sender)
    async let run: Void = queue.run()
    var (requests, sleeps) = (sender.requests.makeAsyncIterator(), clock.sleeps.makeAsyncIterator())
    add(1...2, to: queue)
    #expect(await requests.next() == ["1", "2"])
    #expect(await sleeps.next() == .seconds(7))
    clock.advance(.seconds(7))
    #expect(await requests.next() == ["1", "2"])
    await queue.flushed()
    #expect(queue.drops.total == 0)
    queue.shutDown()
    await run
  }

  @Test func `a flush sends at once and ends when it is there`() async {
    let sender = ScriptedSender()
    let queue = queue(sender)
    async let run: Void = queue.run()
    add(1...1, to: queue)
    await queue.flushed()
    var requests = sender.requests.makeAsyncIterator()
    #expect(await requests.next() == ["1"])
    add(2...2, to: queue)
    queue.flush()
    #expect(await requests.next() == ["2"])
    queue.shutDown()
    await run
    await queue.flushed()
  }

  @Test func `a flush that is cancelled does not wait for a backend that is away`() async {
    let queue = queue(ScriptedSender())
    add(1...1, to: queue)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await queue.flushed() }
      group.cancelAll()
    }
    await withTaskGroup(of: Void.self) { group in
      group.cancelAll()
      group.addTask { await queue.flushed() }
    }
  }

  @Test func `a shutdown sends what waits, and takes nothing more`() async {
    let sender = ScriptedSender()
    let queue = queue(sender)
    add(1...3, to: queue)
    queue.shutDown()
    queue.shutDown()
    add(4...4, to: queue)
    await queue.run()
    var requests = sender.requests.makeAsyncIterator()
    #expect(await requests.next() == ["1", "2"])
    #expect(await requests.next() == ["3"])
    #expect(queue.drops.total == 1)
  }

  @Test func `a backend that hangs holds a shutdown up for five seconds, no longer`() async {
    let sender = ScriptedSender { _ in
      await ScriptedSender.hang()
      return .unreachable
    }
    let queue = queue(sender)
    add(1...3, to: queue)
    async let run: Void = queue.run()
    var (requests, sleeps) = (sender.requests.makeAsyncIterator(), clock.sleeps.makeAsyncIterator())
    #expect(await requests.next() == ["1", "2"])
    queue.shutDown()
    #expect(await sleeps.next() == .seconds(5))
    clock.advance(.seconds(5))
    await run
    #expect(queue.drops.total == 3)
  }

  @Test func `a cancellation ends it, and what is not sent counts as dropped`() async {
    let sender = ScriptedSender { _ in
      await ScriptedSender.hang()
      return .unreachable
    }
    let (logger, lines) = LogCollector.logger()
    let queue = queue(sender, logger: logger)
    add(1...3, to: queue)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await queue.run() }
      var requests = sender.requests.makeAsyncIterator()
      #expect(await requests.next() == ["1", "2"])
      group.cancelAll()
    }
    #expect(queue.drops.total == 3)
    #expect(lines.all == ["warning: 3 spans were dropped, 3 since the start"])
  }

  @Test func `a cancellation while nothing is on its way ends it, too`() async {
    let queue = queue(ScriptedSender { _ in .unreachable })
    add(1...1, to: queue)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await queue.run() }
      var sleeps = clock.sleeps.makeAsyncIterator()
      #expect(await sleeps.next() == .seconds(5))
      group.cancelAll()
    }
    #expect(queue.drops.total == 1)
  }

  @Test func `adding never waits: what does not fit is dropped, counted and logged`() async {
    let sender = ScriptedSender()
    let (logger, lines) = LogCollector.logger()
    let queue = queue(sender, logger: logger)
    add(1...10, to: queue)
    #expect(queue.drops.total == 4)
    queue.shutDown()
    await queue.run()
    #expect(lines.all == ["warning: 4 spans were dropped, 4 since the start"])
  }

  @Test func `many tasks at once: every span is sent once, one request at a time`() async {
    let sent = Mutex<[String]>([])
    let sender = ScriptedSender { request in
      sent.withLock { $0 += request.spans.map(\.name) }
      return .delivered
    }
    let queue = queue(sender, limits: BatchLimits(queue: 100_000, batch: 64))
    async let run: Void = queue.run()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { add(task * 1000...task * 1000 + 999, to: queue) }
      }
    }
    queue.shutDown()
    await run
    #expect(sent.withLock { $0.count } == 8000 && Set(sent.withLock { $0 }).count == 8000)
    #expect(sender.most == 1 && queue.drops.total == 0)
  }
}

@Suite struct DropReportTests {
  private static func at(_ seconds: Double) -> Instant { Fixture.instant(seconds) }

  @Test func `the first drop is reported at once, the next after a minute with what came since`() {
    var report = DropReport()
    #expect(report.due(total: 0, at: Self.at(0)) == nil)
    #expect(report.due(total: 2, at: Self.at(1)) == 2)
    #expect(report.due(total: 5, at: Self.at(60.9)) == nil)
    #expect(report.due(total: 6, at: Self.at(61)) == 4)
    #expect(report.due(total: 6, at: Self.at(200)) == nil)
    #expect(report.due(total: 7, at: Self.at(201)) == 1)
  }

  @Test func `the last report does not wait`() {
    var report = DropReport()
    #expect(report.due(total: 2, at: Self.at(1)) == 2)
    #expect(report.due(total: 3, at: Self.at(2), isLast: true) == 1)
    #expect(report.due(total: 3, at: Self.at(3), isLast: true) == nil)
  }
}
