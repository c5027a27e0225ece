import BatonModel
import BatonTelemetry
import Foundation
import Logging
import Testing

@testable import BatonExporter

/// Other programs read the exported bytes: the reference implementation of OTLP, and rotel, a strict server.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SinkTests {
  @Test func `the reference implementation reads every field, and would write the same bytes`() throws {
    let python = try Sink("python3", ["-c", Self.reading])
    #expect(try python.finish(ExporterFixture.rich.protobuf.hexadecimal) == Self.read)
  }

  @Test func `a strict server gets every span with its kind, parent, links, events, status and attributes`()
    async throws
  {
    let (http, grpc) = (try await Sink.freePort(), try await Sink.freePort())
    let rotel = try Sink(
      "rotel-agent",
      [
        "start", "--otlp-http-endpoint", "127.0.0.1:\(http)", "--otlp-grpc-endpoint", "127.0.0.1:\(grpc)", "--exporter",
        "blackhole", "--debug-log", "traces", "--debug-log-verbosity", "detailed",
      ])
    do {
      try await send(ExporterFixture.rich, to: "http://127.0.0.1:\(http)/v1/traces")
    } catch {
      rotel.process.terminate()
      throw error
    }
    rotel.process.terminate()
    let printed = try rotel.finish()
    // The server's own log lines can be anywhere in between. They are coloured, so no space follows the level.
    let lines = printed.split(separator: "\n").filter { !$0.contains(" INFO") }
    let spans = lines.drop { $0 != "ResourceSpans #0" }.prefix { !$0.contains("Shutdown") }
    #expect(spans.joined(separator: "\n") == Self.printed)
  }

  /// Sends with compression. The queue repeats its attempts until the server has started.
  private func send(_ request: TraceRequest, to url: String) async throws {
    let settings = TelemetrySettings(environment: [
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url, "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
    ])
    let telemetry = Telemetry(
      settings, resource: request.resource, logger: Self.silent)
    var backoff = Backoff()
    (backoff.first, backoff.longest, backoff.attempts) = (.milliseconds(10), .milliseconds(100), 1000)
    let queue = SpanQueue(
      backoff: backoff, resource: request.resource, sender: try #require(telemetry.traces), logger: Self.silent)
    async let run: Void = queue.run()
    for span in request.spans { queue.add(span) }
    await queue.flushed()
    queue.shutDown()
    await run
    #expect(queue.drops.total == 0)
  }

  private static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  private static let reading = """
    import sys
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    sent = bytes.fromhex(sys.stdin.read())
    request = ExportTraceServiceRequest.FromString(sent)
    print(request.SerializeToString(deterministic=True) == sent)
    def text(value):
        kind = value.WhichOneof("value")
        if kind == "array_value": return [text(element) for element in value.array_value.values]
        return getattr(value, kind)
    def texts(attributes): return {each.key: text(each.value) for each in attributes}
    for resource in request.resource_spans:
        print(texts(resource.resource.attributes))
        for scope in resource.scope_spans:
            print(scope.scope.name, scope.scope.version)
            for span in scope.spans:
                print(span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or None, span.trace_state)
                print(span.name, span.kind, span.start_time_unix_nano, span.end_time_unix_nano, span.flags)
                print(span.status.code, span.status.message, texts(span.attributes))
                for event in span.events: print(event.name, event.time_unix_nano, texts(event.attributes))
                for link in span.links:
                    print(link.trace_id.hex(), link.span_id.hex(), link.trace_state, link.flags, texts(link.attributes))
    """

  private static let read = """
    True
    {'service.name': 'baton-worker', 'process.pid': 4711}
    baton 1.2.3
    5b8efff798038103d269b633813fc60c 00000000000000a0 None \("")
    submit index 4 1764000000123456789 1764000000123456789 1
    0  {}
    5b8efff798038103d269b633813fc60c 00000000000000a1 00000000000000a0 vendor=1
    launch index 5 1764000000123456789 1764000002123456789 769
    2 disk full {'text': 'Zürich "🏃"', 'yes': True, 'minus': -7, 'half': 0.5, 'texts': ['a', 'b'], 'numbers': [0, 300]}
    baton.obstacle.came 1764000001123456789 {'baton.obstacle': 'needsNetwork'}
    5b8efff798038103d269b633813fc60c 0000000000000099 a=b 257 {'baton.launch.number': 1}
    5b8efff798038103d269b633813fc60c 00000000000000a2 00000000000000a1 \("")
    run index 1 1764000000123456789 1764000001123456789 1
    1  {}

    """

  /// The text that rotel prints. It leaves out an unset status and an empty trace state, and does not know flags.
  private static let printed = """
    ResourceSpans #0
    Resource SchemaURL: \("")
    Resource attributes:
         -> service.name: Str(baton-worker)
         -> process.pid: Int(4711)
    ScopeSpans #0
    ScopeSpans SchemaURL: \("")
    InstrumentationScope baton \(BatonVersion.current)
    Span #0
        Trace ID       : 5b8efff798038103d269b633813fc60c
        Parent ID      : \("")
        ID             : 00000000000000a0
        Name           : submit index
        Kind           : SPAN_KIND_PRODUCER
    Start time: 1764000000123456789
    End time: 1764000000123456789
    Span #1
        Trace ID       : 5b8efff798038103d269b633813fc60c
        Parent ID      : 00000000000000a0
        ID             : 00000000000000a1
        Name           : launch index
        Kind           : SPAN_KIND_CONSUMER
        TraceState     : vendor=1
    Start time: 1764000000123456789
    End time: 1764000002123456789
        Status code    : STATUS_CODE_ERROR
        Status message : disk full
    Attributes:
         -> text: Str(Zürich "🏃")
         -> yes: Bool(true)
         -> minus: Int(-7)
         -> half: Double(0.5)
         -> texts: Slice(Str(a), Str(b))
         -> numbers: Slice(Int(0), Int(300))
    Events:
    SpanEvent #0
         -> Name: baton.obstacle.came
         -> Timestamp: 1764000001123456789
         -> DroppedAttributesCount: 0
         -> Attributes::
              -> baton.obstacle: Str(needsNetwork)
    Links:
    SpanLink #0
         -> Trace ID: 5b8efff798038103d269b633813fc60c
         -> ID: 0000000000000099
         -> TraceState: a=b
         -> DroppedAttributesCount: 0
         -> Attributes::
              -> baton.launch.number: Int(1)
    Span #2
        Trace ID       : 5b8efff798038103d269b633813fc60c
        Parent ID      : 00000000000000a1
        ID             : 00000000000000a2
        Name           : run index
        Kind           : SPAN_KIND_INTERNAL
    Start time: 1764000000123456789
    End time: 1764000001123456789
        Status code    : STATUS_CODE_OK
        Status message : \("")
    """
}
