import BatonTelemetry
import Testing

@Suite struct NamesTests {
  /// The table of spans in Documentation/how-to/traces.md.
  @Test(
    arguments: [
      (.submit, "submit index", .producer), (.wait, "wait index", .internal), (.launch, "launch index", .consumer),
      (.run, "run index", .internal), (.batch, "batch index", .internal), (.expire, "expire index", .internal),
      (.complete, "complete index", .internal), (.transfer, "transfer index", .client),
    ] as [(Names.Span, String, SpanKind)])
  func `a span has the definition after its name, and a fixed kind`(span: Names.Span, name: String, kind: SpanKind) {
    #expect(span.name(of: "index") == name)
    #expect(span.kind == kind)
  }

  @Test func `the kinds have OTLP's numbers`() {
    #expect(SpanKind.allCases.map(\.rawValue) == [1, 2, 3, 4, 5])
    #expect(SpanKind.producer.rawValue == 4 && SpanKind.consumer.rawValue == 5 && SpanKind.internal.rawValue == 1)
  }

  @Test func `the names that dashboards are written against`() {
    #expect(Names.Attribute.launchOutcome == "baton.launch.outcome")
    #expect(Names.Attribute.expiryReason == "baton.expiry.reason")
    #expect(Names.Attribute.errorType == "error.type")
    #expect(Names.Metric.spansDropped == "baton_spans_dropped_total")
    #expect(Names.scope == "baton")
  }
}
