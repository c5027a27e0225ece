import BatonModel
import Logging
import Testing
import Tracing

@testable import BatonTelemetry

@Suite struct TracerTests {
  let fixture = TracerFixture()
  var tracer: BatonTracer { fixture.tracer }
  var sink: SpanCollector { fixture.sink }

  private static let remote = SpanContext(
    trace: Fixture.trace, span: Fixture.span, isSampled: true, traceState: "vendor=1")

  private func context(_ parent: SpanContext) -> ServiceContext {
    var context = ServiceContext.topLevel
    context.spanContext = parent
    return context
  }

  @Test func `a span without a parent begins a trace, and its children are in it`() throws {
    tracer.withSpan("outer", ofKind: .producer) { _ in tracer.withSpan("inner") { _ in } }
    let (outer, inner) = try (#require(sink["outer"]), #require(sink["inner"]))
    #expect(outer.parent == nil && outer.kind == .producer && inner.kind == .internal)
    #expect(inner.parent == outer.id && inner.trace == outer.trace && inner.id != outer.id)
    #expect(outer.trace == TraceID(high: 1, low: 2) && outer.id == SpanID(3))
    #expect(outer.flags == .sampled && inner.flags == [.sampled, .parentIsKnown])
    #expect(sink.names == ["inner", "outer"])
  }

  @Test func `a span under one of another process says so, and carries its trace state`() throws {
    let span = tracer.startSpan("run", context: context(Self.remote))
    tracer.startSpan("child", context: span.context).end()
    span.end()
    let (run, child) = try (#require(sink["run"]), #require(sink["child"]))
    #expect(run.trace == Fixture.trace && run.parent == Fixture.span && run.traceState == "vendor=1")
    #expect(run.flags == [.sampled, .parentIsKnown, .parentIsRemote])
    #expect(child.traceState == "vendor=1" && child.parent == run.id)
  }

  @Test func `ids are random and never zero`() throws {
    let zeros = Numbers(from: 0)
    let sink = SpanCollector()
    let often = BatonTracer(sink: sink) { zeros.next() % 3 }
    often.startSpan("a").end()
    #expect(sink.spans.map(\.trace) == [TraceID(high: 1, low: 2)] && sink.spans.map(\.id) == [SpanID(1)])
    let random = BatonTracer(sink: sink)
    for _ in 0..<100 { random.startSpan("b").end() }
    #expect(Set(sink.spans.map(\.id)).count == 101 && Set(sink.spans.map(\.trace)).count == 101)
  }

  @Test func `what Baton says of its own spans counts before what a handler says, and has the same limits`() throws {
    var limits = SpanLimits()
    limits.valueLength = 3
    let fixture = TracerFixture(limits: limits)
    let span = fixture.tracer.startSpan("run")
    span.attributes["b"] = "mine"
    span.attributes["c"] = "mine"
    span.add([Attribute("d", "long"), Attribute("b", 1)])
    span.add([Attribute("b", 2), Attribute("a", .strings(["x"]))])
    span.end()
    #expect(
      fixture.sink["run"]?.attributes == [
        Attribute("a", .strings(["x"])), Attribute("b", 2), Attribute("c", "min"), Attribute("d", "lon"),
      ])
    #expect(TracerFixture(limits: limits).tracer.startSpan("run").attributes.isEmpty)
  }

  @Test func `everything that is said of a span is in it, attributes by key`() throws {
    let span = tracer.startSpan("first", ofKind: .consumer, at: TracerFixture.at(10))
    span.operationName = "second"
    span.attributes["b"] = 7
    span.attributes["a"] = "text"
    span.updateAttributes { attributes in
      attributes["c"] = [1.5, 2]
      attributes["d"] = true
      attributes.set("e", value: .int32(-1))
      attributes.set("f", value: .stringConvertible(Broken()))
      attributes.set("g", value: .stringArray(["x"]))
      attributes.set("h", value: .int32Array([3]))
      attributes.set("i", value: .int64Array([4]))
      attributes.set("j", value: .boolArray([false]))
      attributes.set("k", value: .stringConvertibleArray([Broken()]))
      attributes.set("l", value: .double(0.5))
    }
    span.addEvent(Tracing.SpanEvent(name: "event", at: TracerFixture.at(11), attributes: ["n": 1]))
    span.addLink(Tracing.SpanLink(context: context(Self.remote), attributes: ["m": 2]))
    span.setStatus(Tracing.SpanStatus(code: .ok))
    span.end(at: TracerFixture.at(12))
    let attributes = [
      Attribute("a", "text"), Attribute("b", 7), Attribute("c", .doubles([1.5, 2])), Attribute("d", true),
      Attribute("e", -1), Attribute("f", "it is broken"), Attribute("g", .strings(["x"])), Attribute("h", .ints([3])),
      Attribute("i", .ints([4])), Attribute("j", .bools([false])), Attribute("k", .strings(["it is broken"])),
      Attribute("l", 0.5),
    ]
    let event = SpanEvent(time: Timestamp(nanoseconds: 11_000_000_000), name: "event", attributes: [Attribute("n", 1)])
    let link = SpanLink(
      trace: Fixture.trace, span: Fixture.span, traceState: "vendor=1", attributes: [Attribute("m", 2)],
      flags: [.sampled, .parentIsKnown, .parentIsRemote])
    let record = SpanRecord(
      trace: TraceID(high: 1, low: 2), id: SpanID(3), name: "second", kind: .consumer,
      start: Timestamp(nanoseconds: 10_000_000_000), end: Timestamp(nanoseconds: 12_000_000_000),
      attributes: attributes, events: [event], links: [link], status: .ok)
    #expect(sink.spans == [record])
  }

  @Test func `what is said after the end does not count, and a second end does nothing`() {
    let span = tracer.startSpan("a", at: TracerFixture.at(5))
    #expect(span.isRecording)
    span.end(at: TracerFixture.at(6))
    #expect(!span.isRecording)
    span.attributes["late"] = 1
    span.operationName = "late"
    span.setStatus(Tracing.SpanStatus(code: .error))
    span.end(at: TracerFixture.at(7))
    #expect(!span.discard())
    #expect(sink.names == ["a"])
    #expect(sink.spans[0].attributes == [] && sink.spans[0].status == .unset)
    #expect(sink.spans[0].end == Timestamp(nanoseconds: 6_000_000_000))
  }

  @Test func `a clock that was set back makes no span of negative length`() {
    tracer.startSpan("a", at: TracerFixture.at(9)).end(at: TracerFixture.at(2))
    #expect(sink.spans[0].start == sink.spans[0].end)
  }

  @Test func `what a body throws is an error of its span, with its type and message`() throws {
    #expect(throws: Broken.self) { try tracer.withSpan("a") { _ in throw Broken() } }
    let span = try #require(sink["a"])
    #expect(span.status == .error(""))
    #expect(span.attributes == [Attribute("error.type", "Broken")])
    #expect(span.events.map(\.name) == ["exception"])
    #expect(
      span.events[0].attributes == [
        Attribute("exception.message", "it is broken"), Attribute("exception.type", "Broken"),
      ])
  }

  @Test func `an error that was only recorded leaves the status, and an error type that was set stays`() throws {
    let recorded = tracer.startSpan("recorded")
    recorded.recordError(Broken(), attributes: ["attempt": 2], at: TracerFixture.at(3))
    recorded.end()
    let span = try #require(sink["recorded"])
    #expect(span.status == .unset && span.attributes == [])
    #expect(span.events[0].time == Timestamp(nanoseconds: 3_000_000_000))
    #expect(span.events[0].attributes.first == Attribute("attempt", 2))
    tracer.withSpan("typed") { span in
      span.recordError(Broken())
      span.attributes["error.type"] = "mine"
      span.setStatus(Tracing.SpanStatus(code: .error, message: "no"))
    }
    #expect(sink["typed"]?.attributes == [Attribute("error.type", "mine")])
    #expect(sink["typed"]?.status == .error("no"))
  }

  @Test(
    arguments: [
      ([(.ok, nil), (.error, "late")], .ok), ([(.error, "a"), (.error, nil)], .error("a")),
      ([(.error, "a"), (.error, "b")], .error("b")), ([(.error, "a"), (.ok, nil)], .ok),
      ([(.error, nil)], .error("")), ([], .unset),
    ] as [([(Tracing.SpanStatus.Code, String?)], BatonTelemetry.SpanStatus)])
  func `ok is final, and the last error with a message counts`(
    set: [(Tracing.SpanStatus.Code, String?)], status: BatonTelemetry.SpanStatus
  ) {
    let span = tracer.startSpan("a")
    for (code, message) in set { span.setStatus(Tracing.SpanStatus(code: code, message: message)) }
    span.end()
    #expect(sink.spans[0].status == status)
  }

  @Test func `every list is bounded, and the oldest stay`() {
    var limits = SpanLimits()
    (limits.attributes, limits.events, limits.links, limits.valueLength) = (2, 2, 2, 3)
    (limits.attributesPerEvent, limits.attributesPerLink) = (1, 1)
    let bounded = TracerFixture(limits: limits)
    let span = bounded.tracer.startSpan("names", at: TracerFixture.at(1))
    for key in ["z", "b", "a"] { span.attributes[key] = "ünüü🏃" }
    span.attributes["z"] = ["long text", "ok"]
    for number in 1...3 {
      span.addEvent(Tracing.SpanEvent(name: "e\(number)", at: TracerFixture.at(1), attributes: ["x": 1, "y": 2]))
      span.addLink(Tracing.SpanLink(context: context(Self.remote), attributes: ["x": .int64(Int64(number)), "y": 2]))
    }
    span.end(at: TracerFixture.at(2))
    let record = bounded.sink.spans[0]
    #expect(record.name == "nam")
    #expect(record.attributes == [Attribute("b", "ünü"), Attribute("z", .strings(["lon", "ok"]))])
    #expect(record.events.map(\.name) == ["e1", "e2"] && record.events[0].attributes == [Attribute("x", 1)])
    #expect(record.links.map(\.attributes) == [[Attribute("x", 1)], [Attribute("x", 2)]])
  }

  @Test func `an array has at most 128 elements`() {
    tracer.withSpan("a") { $0.attributes["many"] = Array(0..<1000) }
    #expect(sink.spans[0].attributes == [Attribute("many", .ints(Array(0..<128)))])
  }

  @Test func `what the sampler leaves out records nothing, but hands its context on`() throws {
    let off = TracerFixture(sampler: Sampler(root: .never))
    let span = off.tracer.startSpan("root")
    #expect(!span.isRecording && span.context.spanContext?.isSampled == false)
    span.attributes["a"] = 1
    #expect(span.attributes.isEmpty && span.operationName == "")
    let child = off.tracer.startSpan("child", context: span.context)
    #expect(child.context.spanContext?.trace == span.context.spanContext?.trace)
    #expect(child.context.spanContext?.span != span.context.spanContext?.span)
    child.end()
    #expect(span.discard())
    span.end()
    off.tracer.startSpan("sampled", context: context(Self.remote)).end()
    #expect(off.sink.names == ["sampled"], "the parent decides")
    var parent = Self.remote
    parent.isSampled = false
    tracer.startSpan("not sampled", context: context(parent)).end()
    #expect(sink.spans == [])
  }

  @Test func `the open span of a context is found until it ends`() throws {
    let span = tracer.startSpan("a")
    try #require(tracer.activeSpan(identifiedBy: span.context)).attributes["found"] = true
    span.end()
    #expect(sink.spans[0].attributes == [Attribute("found", true)])
    #expect(tracer.activeSpan(identifiedBy: span.context) == nil)
    #expect(tracer.activeSpan(identifiedBy: context(Self.remote)) == nil)
  }

  @Test func `a stored context is a parent, and goes back as it came`() {
    let stored = TraceContext(traceID: Fixture.trace, spanID: Fixture.span, isSampled: true)
    #expect(SpanContext(stored).traceContext == stored)
    #expect(SpanContext(stored).isRemote)
  }

  @Test func `a line that is logged within a span has its ids`() {
    #expect(Logger.MetadataProvider.spans.get() == [:])
    tracer.withSpan("a") { _ in
      #expect(
        Logger.MetadataProvider.spans.get() == [
          "trace_id": "00000000000000010000000000000002", "span_id": "0000000000000003",
        ])
    }
  }

  @Test func `a chain of contexts that goes on for ever keeps no spans in memory`() {
    weak var first: SpanRecorder?
    var context = ServiceContext.topLevel
    for number in 0..<1000 {
      let span = tracer.startSpan("a", context: context)
      if number == 0 { first = span.context.spanContext?.recorder }
      context = span.context
      span.end()
    }
    #expect(first == nil)
  }
}
