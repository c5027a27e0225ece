import BatonModel
import BatonTelemetry
import BatonWorker
import ServiceContextModule
import Testing

@Suite("What a handler passes on of its trace")
struct TraceContextTests {
  @Test("A context has its span as W3C trace context, also without a tracer; a context without a span has none")
  func traceparent() {
    #expect(ServiceContext.topLevel.traceparent == nil)
    var context = ServiceContext.topLevel
    let text = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    context.spanContext = TraceContext(traceparent: text).map { SpanContext($0) }
    #expect(context.traceparent == text)
  }
}
