import BatonBase
import BatonModel
import BatonTelemetry
import CZlib
import Logging
import NIOHTTP1
import Testing
import Tracing

@testable import BatonExporter

/// Tests against a real server on the loopback, which gives the test's answers.
@Suite(.timeLimit(.minutes(10))) struct OTLPExporterTests {
  private static let date = Timestamp(nanoseconds: 784_111_777_000_000_000)

  /// Sends once for each answer, and returns the verdicts, the requests and the log.
  private func export(
    _ answers: [TestBackend.Answer], _ change: @Sendable (inout SignalSettings) -> Void = { _ in },
    request: TraceRequest = ExporterFixture.request(), clock: Clocks = .system
  ) async throws -> (verdicts: [ExportVerdict], requests: [TestBackend.Request], log: [String]) {
    let backend = TestBackend(answers)
    let (logger, lines) = LogCollector.logger()
    let verdicts = try await backend.serve { url in
      var settings = SignalSettings(signal: .traces)
      // Even a very busy machine does not reach this timeout.
      (settings.endpoint, settings.timeout) = (url, .seconds(3600))
      change(&settings)
      let client = ExporterClient()
      let exporter = OTLPExporter("traces", settings, client: client, clock: clock, date: { Self.date }, logger: logger)
      var verdicts: [ExportVerdict] = []
      for _ in answers { verdicts.append(await exporter.send(request)) }
      await client.shutDown()
      return verdicts
    }
    var requests: [TestBackend.Request] = []
    var iterator = backend.requests.makeAsyncIterator()
    for _ in answers { if let request = await iterator.next() { requests.append(request) } }
    return (verdicts, requests, lines.all)
  }

  @Test func `a request is posted as OTLP wants it, compressed`() async throws {
    let (verdicts, requests, log) = try await export(
      [.status(200)],
      { settings in
        settings.headers = [.init("Authorization", "Bearer secret"), .init("X-Team", "a")]
        settings.compression = .gzip
      },
      request: ExporterFixture.request(512))
    #expect(verdicts == [.delivered] && log == [])
    let request = requests[0]
    #expect(request.method == "POST" && request.path == "/v1/traces")
    #expect(request.headers["Content-Type"] == ["application/x-protobuf"])
    #expect(request.headers["Content-Encoding"] == ["gzip"])
    #expect(request.headers["User-Agent"] == ["Baton-OTLP/\(BatonVersion.current)"])
    #expect(request.headers["Authorization"] == ["Bearer secret"] && request.headers["X-Team"] == ["a"])
    let sent = ExporterFixture.request(512).protobuf
    #expect(request.body.prefix(2) == [0x1f, 0x8b] && request.body.count < sent.count / 5)
    #expect(Self.inflated(request.body, upTo: sent.count + 1) == sent)
  }

  @Test func `without compression the bytes are the request's`() async throws {
    let (_, requests, _) = try await export([.status(200)])
    #expect(requests[0].headers["Content-Encoding"] == [])
    #expect(requests[0].body == ExporterFixture.request().protobuf)
  }

  @Test func `a user agent of the operator's goes before ours`() async throws {
    let (_, requests, _) = try await export([.status(200)], { $0.headers = [.init("user-agent", "mine")] })
    #expect(requests[0].headers["User-Agent"] == ["mine"])
  }

  @Test(
    arguments: [
      (.status(200), .delivered), (.status(202), .delivered),
      (.status(200, body: [0x0a, 0x06, 0x08, 3, 0x12, 2, 0x6e, 0x6f]), .partial(rejected: 3, message: "no")),
      (.status(200, body: [0x3c, 0x68]), .partial(rejected: 0, message: "the answer is not protobuf, at byte 1")),
      (.status(400, body: Array("bad span".utf8)), .rejected(reason: "HTTP 400: bad span")),
      (.status(401, headers: [("WWW-Authenticate", "Basic")]), .rejected(reason: "HTTP 401")),
      (.status(429, headers: [("Retry-After", "7")]), .retry(after: .seconds(7))),
      (.status(503, headers: [("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT")]), .retry(after: .seconds(60))),
      (.status(502), .unreachable), (.status(504), .unreachable), (.status(500), .rejected(reason: "HTTP 500")),
      (.status(301, headers: [("Location", "/elsewhere")]), .rejected(reason: "HTTP 301")),
      (.status(307, headers: [("Location", "/elsewhere")]), .rejected(reason: "HTTP 307")),
      (.close, .unreachable), (.headOnly, .delivered),
    ] as [(TestBackend.Answer, ExportVerdict)])
  func `what an answer means`(answer: TestBackend.Answer, verdict: ExportVerdict) async throws {
    #expect(try await export([answer]).verdicts == [verdict])
  }

  @Test func `of a long answer 64 KiB are read, and its end is not awaited`() async throws {
    let verdicts = try await export([.endless, .status(200)]).verdicts
    #expect(verdicts == [.rejected(reason: "HTTP 400: " + String(repeating: "a", count: 200)), .delivered])
  }

  @Test(arguments: [TestBackend.Answer.silence, .stall])
  func `a backend that is too slow is unreachable`(answer: TestBackend.Answer) async throws {
    // The timeout is over at once, either before or after the request has been sent.
    let clock = Clocks(instant: { Instant(nanoseconds: 0) }, sleep: { #expect($0 == .seconds(3)) })
    let backend = TestBackend([answer])
    let (logger, lines) = LogCollector.logger()
    let verdict = try await backend.serve { url in
      var settings = SignalSettings(signal: .traces)
      (settings.endpoint, settings.timeout) = (url, .seconds(3))
      let client = ExporterClient()
      let exporter = OTLPExporter("traces", settings, client: client, clock: clock, logger: logger)
      let verdict = await exporter.send(ExporterFixture.request())
      await client.shutDown()
      return verdict
    }
    #expect(verdict == .unreachable)
    #expect(lines.all.count == 1 && lines.all[0].hasSuffix("no answer within 3s"))
  }

  @Test func `the time goes on while the body of an answer is awaited`() async throws {
    let backend = TestBackend([.stall])
    let verdict = try await backend.serve { url in
      var settings = SignalSettings(signal: .traces)
      settings.endpoint = url
      let clock = Clocks(instant: { Instant(nanoseconds: 0) }) { _ in
        for await _ in backend.requests { return }
      }
      let client = ExporterClient()
      let exporter = OTLPExporter("traces", settings, client: client, clock: clock, logger: Self.silent)
      let verdict = await exporter.send(ExporterFixture.request())
      await client.shutDown()
      return verdict
    }
    #expect(verdict == .unreachable)
  }

  @Test func `a backend that is not there is unreachable at once, and so is every one after the shutdown`() async throws
  {
    let url = try await TestBackend([]).serve { $0 }
    var settings = SignalSettings(signal: .traces)
    settings.endpoint = url
    settings.headers = [.init("Authorization", "secret")]
    let (logger, lines) = LogCollector.logger()
    let client = ExporterClient()
    let exporter = OTLPExporter("traces", settings, client: client, logger: logger)
    #expect(await exporter.send(ExporterFixture.request()) == .unreachable)
    await client.shutDown()
    await client.shutDown()
    #expect(await exporter.send(ExporterFixture.request()) == .unreachable)
    #expect(lines.all.count == 1)
    #expect(lines.all[0] == "warning: Exporting traces to \(url) fails: Connection refused")
    #expect(!lines.all[0].contains("secret"))
  }

  @Test func `a line when it goes down, one when it is back, and one for refusals`() async throws {
    let log = try await export([
      .status(503), .close, .status(200), .status(400, body: Array("a".utf8)), .status(400, body: Array("b".utf8)),
      .status(200),
    ]).log
    #expect(log.count == 3)
    #expect(log[0].hasPrefix("warning: Exporting traces to http://127.0.0.1:") && log[0].hasSuffix(" fails: HTTP 503"))
    #expect(
      log[1].hasPrefix("notice: Exporting traces to http://127.0.0.1:") && log[1].contains(" works again, after "))
    #expect(
      log[2].contains("/v1/traces refused traces: HTTP 400: a; if it takes no traces, set OTEL_TRACES_EXPORTER=none"))
  }

  @Test func `a 503, then a 200: the queue sends the batch twice and it is there`() async throws {
    let backend = TestBackend([.status(503, headers: [("Retry-After", "0")]), .status(200)])
    let drops = try await backend.serve { url in
      var settings = TelemetrySettings(environment: [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        // A busy machine must not end the export before the backend has answered.
        "OTEL_EXPORTER_OTLP_TIMEOUT": "3600000", "OTEL_BSP_EXPORT_TIMEOUT": "3600000",
      ])
      settings.batch = BatchLimits(queue: 10, batch: 1)
      let telemetry = Telemetry(settings, resource: ExporterFixture.resource, logger: Self.silent)
      let spans = try #require(telemetry.spans)
      async let run: Void = spans.run()
      telemetry.tracer?.startSpan("a").end()
      await spans.flushed()
      spans.shutDown()
      await run
      return telemetry.drops.total
    }
    #expect(drops == 0)
    var requests = backend.requests.makeAsyncIterator()
    let (first, second) = (await requests.next(), await requests.next())
    #expect(first?.body.isEmpty == false && first?.body == second?.body)
  }

  /// The span of such a request would be exported too, and the request of that export would make another span.
  @Test func `the exporter's own requests make no spans`() { #expect(!ExporterClient().isTraced) }

  private static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  private static func inflated(_ bytes: [UInt8], upTo limit: Int) -> [UInt8]? {
    var (stream, input, output) = (z_stream(), bytes, [UInt8](repeating: 0, count: limit))
    guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    let isDone = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
        (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
        return inflate(&stream, Z_FINISH) == Z_STREAM_END
      }
    }
    return isDone ? Array(output.prefix(Int(stream.total_out))) : nil
  }
}
