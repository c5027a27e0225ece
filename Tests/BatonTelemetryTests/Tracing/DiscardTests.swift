import BatonModel
import ServiceContextModule
import Synchronization
import Testing
import Tracing

@testable import BatonTelemetry

/// Spans whose end decides whether they are sent, and children of the batch that is open while a handler runs.
@Suite struct DiscardTests {
  let fixture = TracerFixture()
  var tracer: BatonTracer { fixture.tracer }
  var sink: SpanCollector { fixture.sink }
  let box = Box()
  let run: BatonSpan
  /// The context in which the handler's loop runs.
  let context: ServiceContext

  init() {
    run = fixture.tracer.startSpan("run")
    var context = run.context
    context.openBatch = box
    self.context = context
  }

  private func open(_ name: String) -> BatonSpan {
    let batch = tracer.startSpan(name, context: context)
    box.open(batch)
    return batch
  }

  @Test func `a discarded span is not sent, and its end does nothing`() {
    let span = tracer.startSpan("a")
    #expect(span.discard())
    #expect(!span.isRecording && !span.discard())
    span.end()
    #expect(sink.spans == [])
  }

  @Test func `one that got a child is sent, whatever became of the child`() {
    let span = tracer.startSpan("a")
    tracer.startSpan("child", context: span.context).discardOrEnd()
    #expect(!span.discard())
    span.end()
    #expect(sink.names == ["a"])
  }

  @Test func `one that was linked to, or named to another process, is sent`() {
    let linked = tracer.startSpan("linked")
    tracer.startSpan("links").addLink(linked)
    linked.discardOrEnd()
    let named = tracer.startSpan("named")
    var carrier: [String: String] = [:]
    tracer.inject(named.context, into: &carrier, using: DictionaryCarrier())
    named.discardOrEnd()
    #expect(sink.names == ["linked", "named"])
  }

  @Test func `what is made from the context of a discarded span is a child of its parent`() {
    let batch = tracer.startSpan("batch", context: run.context)
    let inner = tracer.startSpan("inner", context: run.context)
    #expect(batch.discard() && inner.discard())
    tracer.startSpan("late", context: batch.context).end()
    #expect(sink["late"]?.parent == run.context.spanContext?.span)
    let root = tracer.startSpan("root")
    #expect(root.discard())
    tracer.startSpan("orphan", context: root.context).end()
    #expect(sink["orphan"]?.parent == nil)
  }

  @Test func `children of the run are children of the batch that is open`() throws {
    let first = open("batch 1")
    ServiceContext.$current.withValue(context) { tracer.withSpan("in 1") { _ in tracer.withSpan("below") { _ in } } }
    box.close()
    first.discardOrEnd()
    let second = open("batch 2")
    box.close()
    second.discardOrEnd()
    tracer.startSpan("between", context: context).end()
    let third = open("batch 3")
    tracer.startSpan("in 3", context: context).end()
    box.close()
    third.discardOrEnd()
    run.end()
    let runID = try #require(sink["run"]).id
    #expect(sink.names == ["below", "in 1", "batch 1", "between", "in 3", "batch 3", "run"])
    #expect(sink["batch 1"]?.parent == runID && sink["batch 3"]?.parent == runID, "never of each other")
    #expect(sink["in 1"]?.parent == sink["batch 1"]?.id && sink["below"]?.parent == sink["in 1"]?.id)
    #expect(sink["in 3"]?.parent == sink["batch 3"]?.id)
    #expect(sink["between"]?.parent == runID)
  }

  @Test func `another process is told the batch, too`() {
    let batch = open("batch")
    var carrier: [String: String] = [:]
    tracer.inject(context, into: &carrier, using: DictionaryCarrier())
    #expect(carrier["traceparent"]?.contains("\(batch.context.spanContext!.span)") == true)
    #expect(!batch.discard())
  }

  @Test func `a batch that was opened after another is not its child`() {
    _ = open("batch 1")
    box.close()
    let second = open("batch 2")
    second.end()
    #expect(sink["batch 2"]?.parent == run.context.spanContext?.span)
  }

  @Test func `children that are made while a batch is discarded never name it`() async {
    for _ in 0..<200 {
      let batch = open("batch")
      await withTaskGroup(of: Void.self) { group in
        group.addTask { [context, tracer] in tracer.startSpan("child", context: context).end() }
        group.addTask { [box] in
          box.close()
          batch.discardOrEnd()
        }
      }
    }
    run.end()
    let ids = Set(sink.spans.map(\.id))
    #expect(sink.spans.allSatisfy { $0.parent.map(ids.contains) ?? true })
    #expect(sink.spans.count { $0.name == "child" } == 200)
  }

  @Test func `a run is begun with what knows its batches, under a launch of another process`() throws {
    let launch = SpanContext(trace: TraceID(high: 7, low: 7), span: SpanID(9), isSampled: true)
    let started = tracer.startRun("run", under: launch, openBatch: box, at: Timestamp(nanoseconds: 5))
    let batch = tracer.startSpan("batch", context: started.context)
    box.open(batch)
    tracer.startSpan("in the batch", context: started.context).end()
    box.close()
    tracer.startSpan("after it", context: started.context).end()
    started.end()
    #expect(sink["in the batch"]?.parent == batch.context.spanContext?.span)
    let record = try #require(sink["run"])
    #expect(sink["after it"]?.parent == record.id)
    #expect(record.parent == launch.span && record.trace == launch.trace && record.kind == .internal)
    #expect(record.start == Timestamp(nanoseconds: 5) && record.flags.contains(.parentIsRemote))
  }

  @Test func `a run that is not sampled has no batches`() {
    let launch = SpanContext(trace: TraceID(high: 7, low: 7), span: SpanID(9), isSampled: false)
    let started = tracer.startRun("run", under: launch, openBatch: box, at: Timestamp(nanoseconds: 5))
    #expect(!started.isRecording && started.context.openBatch == nil)
    #expect(started.context.spanContext?.trace == launch.trace, "but log lines have its trace")
  }

  @Test func `what is made while another tracer's span is open is a child of the run`() {
    box.open(NoOpTracer().startSpan("a", context: .topLevel))
    tracer.startSpan("b", context: context).end()
    #expect(sink["b"]?.parent == run.context.spanContext?.span)
  }
}

/// A batch that a test opens and closes.
final class Box: OpenBatch {
  private let open = Mutex<(any Tracing.Span)?>(nil)

  var batch: (any Tracing.Span)? { open.withLock { $0 } }
  func open(_ span: any Tracing.Span) { open.withLock { $0 = span } }
  func close() { open.withLock { $0 = nil } }
}

extension BatonSpan {
  fileprivate func discardOrEnd() { if !discard() { end() } }
}
