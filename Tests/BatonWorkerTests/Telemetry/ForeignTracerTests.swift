import BatonHandler
import BatonModel
import ServiceContextModule
import Synchronization
import Testing
import Tracing

/// A program that runs a worker may have a tracer of its own: the spans of the launches go to that tracer.
@Suite(.timeLimit(.minutes(10))) struct ForeignTracerTests {
  @Test func `another tracer gets the run and the batches that are sent, below the launch`() async throws {
    let tracer = ForeignTracer()
    let time = Mutable<Mutable<Duration>?>(nil)
    let station = try TracingStation(tracer: tracer) { task in
      time.value?.change { $0 += .seconds(3) }
      for try await _ in task.batches(of: 0..<5, size: 1) {
        time.value?.change { $0 += .seconds(1) }
        withSpan("query") { _ in }
      }
    }
    time.change { $0 = station.time }
    try await station.run()
    let ended = tracer.ended
    let launch = "00-07070707070707070707070707070707-0101010101010101-01"
    let run = try #require(ended.last)
    #expect(run.name == "run com.example.a" && run.parent == launch)
    #expect(ended.count { $0.name == "query" } == 5 && ended.count == 8)
    let batches = ended.filter { $0.name == "batch com.example.a" }
    #expect(batches.map(\.sample) == ["first", "last"] && batches.map(\.seconds) == [[3, 4], [7, 8]])
    // Spans of this tracer cannot be discarded, so the span of a batch is not made early. The handler's spans are
    // therefore children of the run.
    for span in ended.dropLast() { #expect(span.parent == (span.name == "query" ? "foreign 1" : launch)) }
  }

  @Test func `a failure is an error there, too`() async throws {
    let tracer = ForeignTracer()
    let station = try TracingStation(tracer: tracer) { _ in throw Broken() }
    try await station.run()
    #expect(tracer.ended.map(\.name) == ["batch com.example.a", "run com.example.a"])
    for span in tracer.ended { #expect(span.isError && span.errors == ["Broken"]) }
  }

  @Test func `a command is below what that tracer says`() async throws {
    let tracer = ForeignTracer()
    let station = try TracingStation(tracer: tracer)
    let parents = try await CommandTraceTests.parents(station, items: .range(1...1))
    #expect(parents == [tracer.ended.last?.id])
  }
}

/// A tracer that knows nothing of Baton's spans.
private final class ForeignTracer: Tracer {
  struct Ended: Sendable {
    var id: String
    var name: String
    var parent: String?
    var sample: String?
    var isError = false
    var errors: [String] = []
    var seconds: [Double] = []
  }

  private let state = Mutex((last: 0, ended: [Ended]()))
  var ended: [Ended] { state.withLock(\.ended) }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: Tracing.SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> ForeignSpan {
    let id = state.withLock { state in
      state.last += 1
      return "foreign \(state.last)"
    }
    let parent = context()
    var context = parent
    context.foreign = id
    return ForeignSpan(
      context: context, name: operationName, parent: parent.foreign, start: instant().nanosecondsSinceEpoch
    ) { ended in
      self.state.withLock { $0.ended.append(ended) }
    }
  }

  func forceFlush() {}

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier { context.foreign = extractor.extract(key: "traceparent", from: carrier) }

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    if let id = context.foreign { injector.inject(id, forKey: "traceparent", into: &carrier) }
  }
}

private final class ForeignSpan: Tracing.Span {
  let context: ServiceContext
  let isRecording = true
  private let end: @Sendable (ForeignTracer.Ended) -> Void
  private let start: UInt64
  private let state: Mutex<State>

  private struct State {
    var ended: ForeignTracer.Ended
    var attributes = SpanAttributes()
    var name: String
  }

  init(
    context: ServiceContext, name: String, parent: String?, start: UInt64,
    end: @escaping @Sendable (ForeignTracer.Ended) -> Void
  ) {
    (self.context, self.start, self.end) = (context, start, end)
    state = Mutex(State(ended: .init(id: context.foreign ?? "", name: name, parent: parent), name: name))
  }

  var operationName: String {
    get { state.withLock(\.name) }
    set { state.withLock { $0.name = newValue } }
  }
  var attributes: SpanAttributes {
    get { state.withLock(\.attributes) }
    set { state.withLock { $0.attributes = newValue } }
  }
  func setStatus(_ status: Tracing.SpanStatus) { state.withLock { $0.ended.isError = status.code == .error } }
  func addEvent(_ event: Tracing.SpanEvent) {}
  func addLink(_ link: Tracing.SpanLink) {}

  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) { state.withLock { $0.ended.errors.append("\(type(of: error))") } }

  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    let base = UInt64(TracingStation.base.nanoseconds)
    let times = [start, instant().nanosecondsSinceEpoch].map { Double(Int64($0) - Int64(base)) / 1e9 }
    let ended = state.withLock { state in
      var ended = state.ended
      if case .string(let sample)? = state.attributes.get("baton.batch.sample") { ended.sample = sample }
      ended.seconds = times
      return ended
    }
    end(ended)
  }
}

private enum ForeignKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
  fileprivate var foreign: String? {
    get { self[ForeignKey.self] }
    set { self[ForeignKey.self] = newValue }
  }
}
