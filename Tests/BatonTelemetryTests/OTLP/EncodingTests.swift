import BatonModel
import Testing

@testable import BatonTelemetry

/// Small messages, byte for byte, and which values are equal.
@Suite struct EncodingTests {
  @Test(
    arguments: [
      ("", "0a00"), ("a", "0a0161"), (false, "1000"), (true, "1001"), (0, "1800"), (1, "1801"), (127, "187f"),
      (128, "188001"), (-1, "18ffffffffffffffffff01"), (0.0, "210000000000000000"), (1.0, "21000000000000f03f"),
      (.strings([]), "2a00"), (.strings([""]), "2a040a020a00"), (.bools([false]), "2a040a021000"),
      (.ints([0, 1]), "2a080a0218000a021801"), (.doubles([0]), "2a0b0a09210000000000000000"),
    ] as [(AttributeValue, String)])
  func `a value is written even at its default`(value: AttributeValue, hex: String) {
    #expect(value.protobuf.hexadecimal == hex)
  }

  @Test(
    arguments: [(0, "0a00"), (127, "0a7f"), (128, "0a8001"), (16_383, "0aff7f"), (16_384, "0a808001")]
      as [(Int, String)])
  func `a length takes as few bytes as it can`(count: Int, hex: String) {
    let text = String(repeating: "x", count: count)
    #expect(AttributeValue.string(text).protobuf.prefix(hex.count / 2).map { $0 } == [UInt8](hexadecimal: hex))
    var writer = ProtobufWriter()
    writer.message(1) { for _ in 0..<count / 2 { $0.member(1, varint: 1) } }
    let whole = count / 2 * 2
    #expect(writer.bytes.count == 1 + (whole > 16_383 ? 3 : whole > 127 ? 2 : 1) + whole)
    #expect(writer.bytes.suffix(2) == (whole == 0 ? [0x0a, 0] : [8, 1]))
  }

  @Test func `a plain field at its default is not written, an id always is`() {
    let root = SpanRecord(
      trace: Fixture.trace, id: Fixture.span, name: "", kind: .server, start: Timestamp(nanoseconds: 0),
      end: Timestamp(nanoseconds: 0), flags: [])
    #expect(root.protobuf.hexadecimal == "0a105b8efff798038103d269b633813fc60c1208eee19b7ec3c1b1743002")
    #expect(SpanStatus.unset.protobuf == [])
    #expect(Attribute("", "").protobuf.hexadecimal == "12020a00")
    #expect(SpanEvent(time: Timestamp(nanoseconds: 0), name: "").protobuf == [])
  }

  @Test func `an empty request still has its resource and its scope`() {
    let request = TraceRequest(resource: Resource([]), spans: [], version: "")
    #expect(request.protobuf.hexadecimal == "0a0d0a0012090a070a056261746f6e")
    #expect(TraceRequest(resource: Resource([]), spans: []).json.contains(BatonVersion.current))
  }

  @Test func `a time is a fixed64 with the lowest byte first`() {
    let event = SpanEvent(time: Timestamp(nanoseconds: 0x0102_0304_0506_0708), name: "")
    #expect(event.protobuf.hexadecimal == "090807060504030201")
  }

  @Test(arguments: [("\u{e9}", "e\u{301}"), (0.0, -0.0)] as [(AttributeValue, AttributeValue)])
  func `equal values have equal bytes, and what has other bytes is not equal`(
    one: AttributeValue, other: AttributeValue
  ) {
    #expect(one != other)
    #expect(Set([one, other, one]).count == 2)
    var (left, right) = (Fixture.span(1), Fixture.span(1))
    #expect(left == right)
    left.attributes = [Attribute("k", one)]
    right.attributes = [Attribute("k", other)]
    #expect(left != right)
    #expect(AttributeValue.double(.nan) == .double(.nan))
  }

  @Test func `the order of attributes is kept`() {
    var span = Fixture.span(1)
    span.attributes = [Attribute("b", 1), Attribute("a", 2)]
    var other = span
    other.attributes.reverse()
    #expect(span != other)
  }

  @Test(arguments: [(Double.nan, #""NaN""#), (.infinity, #""Infinity""#), (-.infinity, #""-Infinity""#), (0.1, "0.1")])
  func `JSON has words for what is not a number`(value: Double, text: String) {
    #expect(JSONWriter.number(value) == text)
  }

  @Test func `a resource has each key once, the later value at the earlier place`() {
    let resource = Resource([Attribute("a", 1), Attribute("b", 2), Attribute("a", 3)])
    #expect(resource.attributes == [Attribute("a", 3), Attribute("b", 2)])
    #expect(resource["a"] == 3)
    #expect(resource["c"] == nil)
  }

  @Test func `the operator's resource attributes count for more than our own`() {
    let settings = TelemetrySettings(environment: [
      "OTEL_RESOURCE_ATTRIBUTES": "host.name=desk,team=search", "OTEL_SERVICE_NAME": "mine",
    ])
    let resource = Resource.process(
      service: "baton-worker", version: "1", instance: "i", host: "h", system: "linux", process: 7, settings: settings)
    #expect(
      resource.attributes == [
        Attribute("service.name", "mine"), Attribute("service.version", "1"), Attribute("service.instance.id", "i"),
        Attribute("host.name", "desk"), Attribute("os.type", "linux"), Attribute("process.pid", 7),
        Attribute("team", "search"),
      ])
  }
}
