import BatonHandler
import BatonModel
import BatonTelemetry
import ContractRows
import Testing
import Tracing

@testable import BatonBase
@testable import BatonCore
@testable import BatonWorker

/// The spans of a launch of a Swift handler, as a backend gets them.
@Suite(.timeLimit(.minutes(10))) struct RunSpanTests {
  @Test func `a launch has a run, and the run its first and last batch`() async throws {
    let time = Mutable<Mutable<Duration>?>(nil)
    let station = try TracingStation { task in
      time.value?.change { $0 += .seconds(3) }
      for try await _ in task.batches(of: 0..<5, size: 1) { time.value?.change { $0 += .seconds(2) } }
      time.value?.change { $0 += .seconds(1) }
    }
    time.change { $0 = station.time }
    let ending = try await station.run()
    #expect(ending == Ending(launch: key(1), outcome: .finished))
    #expect(station.sink.spans.count == 3)
    let run = try #require(station.run)
    #expect(run.trace == Bench.trace.traceID && run.parent == TracingStation.launchSpan)
    #expect(run.kind == .internal && run.status == .unset && run.seconds == [0, 14])
    #expect(run.flags.contains([.parentIsKnown, .parentIsRemote]))
    #expect(
      run.attributes == [
        Attribute("baton.definition", "com.example.a"), Attribute("baton.host", "anna"),
        Attribute("baton.identifier", "com.example.a"), Attribute("baton.kind", "continued"),
        Attribute("baton.launch.batches", 5), Attribute("baton.launch.first_batch", 0),
        Attribute("baton.launch.number", 1), Attribute("baton.launch.outcome", "finished"),
        Attribute("baton.request", 1),
      ])
    #expect(station.samples == ["0 first", "4 last"])
    #expect(station.batches.map(\.seconds) == [[3, 5], [11, 13]], "what comes before and after is no batch")
    for batch in station.batches { #expect(batch.parent == TracingStation.launchSpan && batch.trace == run.trace) }
    let last = try #require(station.batch(4))
    #expect(last.kind == .internal && last.status == .unset)
    #expect(last["baton.definition"] == "com.example.a" && last["baton.host"] == "anna")
    #expect(last["baton.identifier"] == "com.example.a" && last["baton.request"] == 1)
    #expect(last["baton.launch.number"] == 1 && last["baton.batch.repeated"] == nil)
  }

  @Test func `the run and the batches of a shard have its number, and those of other launches have none`()
    async throws
  {
    func spans(of shard: Shard?) async throws -> [SpanRecord] {
      let station = try TracingStation { task in try await task.checkpoint("all") }
      var assignment = Bench.assignment(1)
      assignment.shard = shard
      try await station.run(assignment, Bench.job { $0.spread = shard.map { _ in Spread(lanes: 1, shards: 4) } })
      return station.sink.spans
    }
    for index in [0, 3] {
      let found = try await spans(of: Shard(index: index, first: Int64(index)))
      #expect(found.map(\.name) == ["batch com.example.a", "run com.example.a"])
      #expect(found.allSatisfy { $0["baton.shard"] == .int(Int64(index)) })
      #expect(found.allSatisfy { $0.attributes.map(\.key) == $0.attributes.map(\.key).sorted() })
    }
    #expect(try await spans(of: nil).allSatisfy { $0["baton.shard"] == nil })
  }

  @Test(.contract(16.3, 16.5))
  func `a launch that expired ends when its handler returns, and its spans are sent at once`() async throws {
    let itself = Mutable<TracingStation?>(nil)
    let station = try TracingStation { task in
      try await task.checkpoint("half")
      itself.value?.hears(.expire(key(1), .paused))
      throw CancellationError()
    }
    itself.change { $0 = station }
    let ending = try await station.run()
    #expect(ending.outcome == .expired(.paused))
    #expect(station.time.value == .zero, "no time of the closing window has passed")
    #expect(station.sink.flushes == [station.sink.spans.count])
    #expect(station.sink.spans.map(\.name) == ["batch com.example.a", "run com.example.a"])
  }

  @Test func `spans of a launch that did not expire are sent with the next batch of spans`() async throws {
    let station = try TracingStation { task in try await task.checkpoint("all") }
    try await station.run()
    #expect(station.sink.flushes == [])
  }

  @Test(.contract(16.3)) func `before the process of a handler that ignores its expiry ends, the run's span is sent`()
    async throws
  {
    let itself = Mutable<TracingStation?>(nil)
    let flushesBefore = Mutable<[Int]>([])
    let station = try TracingStation(endsProcessOnOverrun: true) { _ in
      itself.value?.hears(.expire(key(1), .paused))
      itself.value?.worker.decide { $0.tick(at: Instant(nanoseconds: 5_000_000_000)) }
      flushesBefore.change { $0 = itself.value?.sink.flushes ?? [] }
    }
    itself.change { $0 = station }
    try await station.run(Bench.assignment(1), Bench.job(.refresh))
    #expect(flushesBefore.value == [2], "while the handler still ran")
    #expect(station.sink.spans.map(\.name) == ["batch com.example.a", "run com.example.a"], "each span ends once")
    #expect(station.run?.text(Names.Attribute.expiryReason) == "paused")
  }

  @Test func `a batch says how large the checkpoint is that it committed`() async throws {
    let station = try TracingStation(sampling: BatchSampling(interval: 1)) { task in
      for length in [1, 1000] { try await task.checkpoint(String(repeating: "x", count: length)) }
    }
    let sizes = Mutable<[Int64]>([])
    try await station.run { message in
      if case .checkpoint(let checkpoint) = message { sizes.change { $0.append(Int64(checkpoint.cursor!.count)) } }
      return TracingStation.commits(message)
    }
    #expect(sizes.value.count == 2 && sizes.value[1] > 1000)
    #expect(station.batches.map { $0.number(Names.Attribute.checkpointBytes) } == sizes.value)
  }

  @Test func `what a handler makes is a child of its batch, and that batch is sent`() async throws {
    let station = try TracingStation { task in
      withSpan("prepare") { _ in }
      for try await batch in task.batches(of: 0..<5, size: 1) where batch.first == 2 {
        try await withSpan("query") { _ in try await purge(batch) }
        withSpan("count") { _ in }
      }
      withSpan("tidy") { _ in }
    }
    try await station.run()
    let run = try #require(station.run)
    #expect(station.samples == ["0 first", "2 parent", "4 last"])
    // It is not known yet whether the handler will announce its batches, so the first batch is open from the start.
    #expect(station["prepare"]?.parent == station.batch(0)?.id)
    #expect(station["query"]?.parent == station.batch(2)?.id)
    #expect(station["below"]?.parent == station["query"]?.id)
    #expect(station["count"]?.parent == station.batch(2)?.id, "which was made once")
    #expect(station["tidy"]?.parent == run.id, "no batch is open after the last one")
    #expect(station.sink.spans.allSatisfy { $0.trace == run.trace })
  }

  @Test func `a handler with checkpoints of its own is at work on a batch from each to the next`() async throws {
    let station = try TracingStation { task in
      for number in 0..<4 {
        withSpan("part \(number)") { _ in }
        try await task.checkpoint(number)
      }
    }
    try await station.run()
    #expect(station.samples == ["0 first", "1 parent", "2 parent", "3 last"])
    for number in 0..<4 { #expect(station["part \(number)"]?.parent == station.batch(Int64(number))?.id) }
    #expect(station.run?.number(Names.Attribute.batches) == 4)
  }

  @Test func `a handler without batches has a run and nothing else`() async throws {
    let station = try TracingStation { _ in }
    try await station.run()
    #expect(station.sink.spans.map(\.name) == ["run com.example.a"])
    #expect(station.run?.number(Names.Attribute.batches) == 0)
  }

  @Test func `a resumed launch repeats a batch, and its numbers go on`() async throws {
    let station = try TracingStation { task in
      for number in 0..<3 { try await task.checkpoint(number) }
    }
    var assignment = Bench.assignment(1, launch: 2)
    (assignment.repeatsBatch, assignment.progress.batches) = (true, 7)
    try await station.run(assignment)
    #expect(station.samples == ["7 repeated", "9 last"])
    #expect(station.batch(7)?["baton.batch.repeated"] == true)
    #expect(station.run?.number(Names.Attribute.firstBatch) == 7)
    #expect(station.run?.number(Names.Attribute.batches) == 3)
    #expect(station.run?.number(Names.Attribute.launch) == 2)
  }

  @Test func `a slow batch is sent, by the worker's steady clock`() async throws {
    let time = Mutable<Mutable<Duration>?>(nil)
    let station = try TracingStation { task in
      for try await batch in task.batches(of: 0..<5, size: 1) {
        time.value?.change { $0 += .seconds(batch.first == 2 ? 9 : 2) }
      }
    }
    time.change { $0 = station.time }
    try await station.run()
    #expect(station.samples == ["0 first", "2 slow", "4 last"])
    #expect(station.batch(2)?.seconds == [4, 13])
  }

  // MARK: Failure and expiry

  @Test func `a failure is an error of the run and of its batch`() async throws {
    let station = try TracingStation { task in
      for try await batch in task.batches(of: 0..<5, size: 1) where batch.first == 2 { throw Broken() }
    }
    let ending = try await station.run()
    #expect(ending == Ending(launch: key(1), outcome: .failed("it is broken"), errorType: "Broken"))
    #expect(station.samples == ["0 first", "2 failed"])
    for span in [station.run, station.batch(2)] {
      #expect(span?.status == .error("it is broken"))
      #expect(span?["error.type"] == "Broken")
      #expect(span?.events.map(\.name) == ["exception"])
      #expect(
        span?.events.first?.attributes == [
          Attribute("exception.message", "it is broken"), Attribute("exception.type", "Broken"),
        ])
    }
    #expect(station.run?["baton.launch.outcome"] == "failed" && station.run?["baton.launch.batches"] == 2)
    #expect(station.batch(0)?.status == .unset)
  }

  @Test(arguments: [true, false])
  func `an expiry is no error`(throwsAnother: Bool) async throws {
    let station = try TracingStation { task in
      for try await batch in task.batches(of: 0..<5, size: 1) where batch.first == 2 {
        task.update(title: "expire me")
        await cancelled()
        if throwsAnother { throw Broken() }
        try Task.checkCancellation()
      }
    }
    let ending = try await station.run(answer: TracingStation.expires)
    #expect(ending == Ending(launch: key(1), outcome: .expired(.paused)))
    let run = try #require(station.run)
    #expect(run.status == .unset && run.events == [] && run["error.type"] == nil)
    #expect(run["baton.launch.outcome"] == "expired" && run["baton.expiry.reason"] == "paused")
    #expect(run["baton.launch.batches"] == 2)
    // The interrupted batch was the last one.
    #expect(station.samples == ["0 first", "2 last"])
    let batch = try #require(station.batch(2))
    #expect(batch.status == .unset && batch.events == [] && batch["baton.expiry.reason"] == "paused")
    #expect(station.batch(0)?["baton.expiry.reason"] == nil)
  }

  @Test func `a batch that is committed while the launch expires is the last, and was not interrupted`() async throws {
    let station = try TracingStation { task in
      for try await batch in task.batches(of: 0..<5, size: 1) where batch.first == 2 {
        task.update(title: "expire me")
        await cancelled()
      }
    }
    try await station.run(answer: TracingStation.expires)
    #expect(station.samples == ["0 first", "2 last"])
    #expect(station.batch(2)?["baton.expiry.reason"] == nil && station.run?["baton.launch.batches"] == 3)
    #expect(station.run?["baton.expiry.reason"] == "paused")
  }

  @Test func `returning is completion, also while it expires`() async throws {
    let station = try TracingStation { task in
      task.update(title: "expire me")
      await cancelled()
    }
    let ending = try await station.run(answer: TracingStation.expires)
    #expect(ending.outcome == .finished)
    #expect(station.run?["baton.launch.outcome"] == "finished" && station.run?["baton.expiry.reason"] == nil)
  }

  @Test func `a refresh that says that it failed has failed`() async throws {
    let station = try TracingStation(handler: refreshing { _ in .failed })
    try await station.run(Bench.assignment(1), Bench.job(.refresh))
    let run = try #require(station.run)
    #expect(run.status == .error("the refresh reported that it failed") && run["error.type"] == "refreshFailed")
    #expect(run["baton.launch.outcome"] == "failed" && run["baton.kind"] == "refresh")
    let well = try TracingStation(handler: refreshing { _ in .noData })
    try await well.run(Bench.assignment(1), Bench.job(.refresh))
    #expect(well.run?.status == .unset)
  }

  @Test func `a run that has ended is kept by nothing, whatever its handler made`() {
    let sink = SpanCollector()
    let tracing = RunTracing(
      BatonTracer(sink: sink), host: HostName("anna"), sampling: BatchSampling(), clocks: .system)
    weak var kept: RunSpan?
    do {
      let run = RunSpan(Bench.assignment(1), Bench.job(), tracing)
      kept = run
      tracing.tracer.startSpan("query", context: run.context).end()
      run.committed(bytes: nil)
      run.end(.finished)
      #expect(run.batch == nil && sink.spans.count == 3)
    }
    #expect(kept == nil)
  }

  @Test func `an error may make a span while it says what it is`() async throws {
    let station = try TracingStation { task in
      for try await _ in task.batches(of: 0..<3, size: 1) {
        throw Describing(context: ServiceContext.current ?? .topLevel)
      }
    }
    #expect(try await station.run().errorType == "Describing")
    #expect(station.run?.status == .error("it makes a span"))
    #expect(station.sink.spans.contains { $0.name == "describe" } && station.batches.count == 1)
  }

  @Test func `a run begins before its first batch and ends after its last, to the nanosecond`() throws {
    let (sink, reads) = (SpanCollector(), Mutable(Int64(0)))
    let clocks = Clocks(
      instant: { Instant(nanoseconds: 0) }, sleep: { _ in },
      date: {
        reads.change { $0 += 1 }
        return Timestamp(nanoseconds: reads.value)
      })
    let tracing = RunTracing(
      BatonTracer(sink: sink), host: HostName("anna"), sampling: BatchSampling(), clocks: clocks)
    let run = RunSpan(Bench.assignment(1), Bench.job(), tracing)
    run.committed(bytes: nil)
    run.announced()
    run.end(.finished)
    let spans = sink.spans
    #expect(spans.map(\.name) == ["batch com.example.a", "batch com.example.a", "run com.example.a"])
    let last = try #require(spans.last)
    #expect(spans.allSatisfy { last.start <= $0.start && $0.end <= last.end })
    #expect(spans[1].end < last.end)
  }

  // MARK: Not traced

  @Test func `nothing is recorded of a request that is not sampled, and its handler knows its trace`() async throws {
    let seen = Mutable<TraceID?>(nil)
    let station = try TracingStation { task in
      seen.change { $0 = ServiceContext.current?.spanContext?.trace }
      for try await _ in task.batches(of: 0..<3, size: 1) { withSpan("query") { _ in } }
      throw Broken()
    }
    var assignment = Bench.assignment(1)
    assignment.trace.isSampled = false
    let ending = try await station.run(assignment)
    #expect(ending.outcome == .failed("it is broken") && ending.errorType == "Broken")
    #expect(station.sink.spans == [])
    #expect(seen.value == Bench.trace.traceID)
  }

  @Test func `without a tracer nothing is recorded, and a handler knows its launch`() async throws {
    let seen = Mutable<SpanID?>(nil)
    let station = try TracingStation(tracer: NoOpTracer()) { task in
      seen.change { $0 = ServiceContext.current?.spanContext?.span }
      for try await _ in task.batches(of: 0..<3, size: 1) { withSpan("query") { _ in } }
    }
    #expect(try await station.run() == Ending(launch: key(1), outcome: .finished))
    #expect(station.sink.spans == [] && seen.value == TracingStation.launchSpan)
  }

  @Test func `a launch belongs to its own trace, not to what the program is in`() async throws {
    let station = try TracingStation { _ in }
    var context = ServiceContext.topLevel
    context.spanContext = SpanContext(trace: TraceID(high: 9, low: 9), span: SpanID(9), isSampled: false)
    try await ServiceContext.$current.withValue(context) { _ = try await station.run() }
    #expect(station.run?.trace == Bench.trace.traceID)
  }
}

private struct Describing: Error, CustomStringConvertible {
  let context: ServiceContext

  var description: String {
    ServiceContext.$current.withValue(context) { withSpan("describe") { _ in "it makes a span" } }
  }
}

private func purge(_ batch: Range<Int>) async throws {
  withSpan("below") { _ in #expect(batch == 2..<3) }
}

/// Returns once the task is cancelled.
private func cancelled() async {
  while !Task.isCancelled { await Task.yield() }
}

extension TracingStation {
  /// Confirms each commit, and lets a launch expire if its handler asks for it with the title "expire me".
  static func expires(_ message: WorkerMessage) -> CoordinatorMessage? {
    if case .update(let update) = message, update.title == "expire me" { return .expire(update.launch, .paused) }
    return commits(message)
  }
}
