import BatonModel
import BatonTelemetry
import Testing

@Suite struct TraceIDTests {
  @Test func `digits, bytes and numbers are the same id`() throws {
    let trace = try #require(TraceID(hex: "00000000000000010000000000000002"))
    #expect(trace == TraceID(high: 1, low: 2))
    #expect(trace.bytes == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2])
    #expect(TraceID(bytes: trace.bytes) == trace)
    #expect(Fixture.trace.description == "5b8efff798038103d269b633813fc60c")
    #expect(SpanID(bytes: Fixture.span.bytes) == Fixture.span)
    #expect(Fixture.span.description == "eee19b7ec3c1b174")
  }

  @Test(arguments: [
    "", "5b8efff798038103d269b633813fc60", "5b8efff798038103d269b633813fc60c00", "5B8EFFF798038103D269B633813FC60C",
    "5b8efff798038103d269b633813fc60g",
  ])
  func `anything but 32 digits in lower case is no trace id`(text: String) {
    #expect(TraceID(hex: text) == nil)
    #expect(SpanID(hex: text) == nil)
  }

  @Test func `zeros mean that there is none`() {
    #expect(!TraceID(high: 0, low: 0).isValid)
    #expect(TraceID(high: 1, low: 0).isValid)
    #expect(TraceID(high: 0, low: 1).isValid)
    #expect(!SpanID(0).isValid)
    #expect(SpanID(1).isValid)
  }

  @Test func `a request's context names its trace and the parent`() throws {
    let text = "00-\(Fixture.trace)-\(Fixture.span)-01"
    let context = try #require(TraceContext(traceparent: text))
    #expect(context.traceID == Fixture.trace)
    #expect(context.spanID == Fixture.span)
  }
}
