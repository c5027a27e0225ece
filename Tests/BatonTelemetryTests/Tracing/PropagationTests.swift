import Testing
import Tracing

@testable import BatonTelemetry

struct DictionaryCarrier: Injector, Extractor {
  func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}

@Suite struct PropagationTests {
  static let parent = "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01"
  let tracer = TracerFixture().tracer

  private func extract(_ carrier: [String: String]) -> SpanContext? {
    var context = ServiceContext.topLevel
    tracer.extract(carrier, into: &context, using: DictionaryCarrier())
    return context.spanContext
  }

  @Test(arguments: ["traceparent", "Traceparent", "TRACEPARENT"])
  func `a traceparent is found however its name is written`(name: String) throws {
    let found = try #require(extract([name: " \(Self.parent) "]))
    #expect(found.trace == Fixture.trace && found.span == Fixture.span)
    #expect(found.isSampled && found.isRemote && found.traceState == "")
  }

  @Test func `flags, a later version, and the trace state are understood`() throws {
    #expect(extract(["traceparent": Self.parent.dropLast() + "0"])?.isSampled == false)
    #expect(extract(["traceparent": Self.parent.dropLast(2) + "ff"])?.isSampled == true)
    let later = extract(["traceparent": "cc" + Self.parent.dropFirst(2) + "-more", "Tracestate": "a=b, c=d"])
    #expect(later?.traceState == "a=b,c=d")
  }

  @Test(arguments: [
    "", "00", parent + "-more", parent.uppercased(), "ff" + parent.dropFirst(2), parent.dropLast() + "",
    "00-00000000000000000000000000000000-eee19b7ec3c1b174-01",
    "00-5b8efff798038103d269b633813fc60c-0000000000000000-01",
  ])
  func `one that is not valid counts as absent, with its trace state`(text: String) {
    #expect(extract(["traceparent": text, "tracestate": "a=b"]) == nil)
  }

  @Test func `without one nothing changes`() {
    let span = tracer.startSpan("a")
    var context = span.context
    tracer.extract(["tracestate": "a=b"], into: &context, using: DictionaryCarrier())
    #expect(context.spanContext?.span == span.context.spanContext?.span)
  }

  @Test func `what goes out is what comes in at the other end`() throws {
    var context = ServiceContext.topLevel
    tracer.extract(
      ["traceparent": Self.parent, "tracestate": "a=b"], into: &context, using: DictionaryCarrier())
    let span = tracer.startSpan("a", context: context)
    var carrier: [String: String] = [:]
    tracer.inject(span.context, into: &carrier, using: DictionaryCarrier())
    let id = try #require(span.context.spanContext).span
    #expect(carrier == ["traceparent": "00-\(Fixture.trace)-\(id)-01", "tracestate": "a=b"])
    #expect(extract(carrier)?.span == id)
    var empty: [String: String] = [:]
    tracer.inject(.topLevel, into: &empty, using: DictionaryCarrier())
    #expect(empty == [:])
  }

  @Test(
    arguments: [
      ("a=b", "a=b"), (" a=b ,, c=d ", "a=b,c=d"), ("", ""), ("1a@b=x", "1a@b=x"), ("a=b c", "a=b c"),
      ("a_-*/1=!", "a_-*/1=!"), ("a", nil), ("=b", nil), ("a=", nil), ("A=b", nil), ("1a=b", nil), ("a@=b", nil),
      ("@a=b", nil), ("a@1=b", nil), ("a@b@c=d", nil), ("a=b=c", nil), ("a=ü", nil), ("a=b,a=c", nil),
      ("a@" + String(repeating: "b", count: 15) + "=c", nil), (String(repeating: "a", count: 257) + "=c", nil),
      ("a=" + String(repeating: "b", count: 257), nil), ("a=b\u{7f}", nil),
    ] as [(String, String?)])
  func `trace states`(header: String, normalized: String?) {
    #expect(TraceState.normalized(header) == normalized)
  }

  @Test func `a trace state has at most 32 members and 512 characters`() throws {
    let members = (0..<33).map { "k\($0)=v" }
    #expect(TraceState.normalized(members.joined(separator: ",")) == nil)
    #expect(TraceState.normalized(members.dropLast().joined(separator: ",")) != nil)
    let long = "long=" + String(repeating: "x", count: 200)
    let many = (0..<30).map { "key\($0)=" + String(repeating: "y", count: 13) }
    let shortened = try #require(TraceState.normalized(([many[0], long] + many.dropFirst()).joined(separator: ",")))
    #expect(shortened.utf8.count <= 512 && shortened.utf8.count > 480)
    #expect(shortened.hasPrefix("\(many[0]),\(many[1]),") && !shortened.contains("long"))
  }
}
