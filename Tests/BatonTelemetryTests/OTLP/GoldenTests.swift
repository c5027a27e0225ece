import BatonModel
import Testing

@testable import BatonTelemetry

/// The bytes of a request that uses every field, compared with those of the reference implementation
/// (opentelemetry-proto for Python, `SerializeToString(deterministic=True)`). Its `json_format` has read the JSON back.
@Suite struct GoldenTests {
  static let link = SpanLink(
    trace: Fixture.trace, span: SpanID(1), traceState: "a=b", attributes: [Attribute("baton.launch.number", 1)],
    flags: [.sampled, .parentIsKnown, .parentIsRemote])

  static let event = SpanEvent(
    time: Timestamp(nanoseconds: 1_764_000_000_200_000_000), name: Names.Event.obstacleCame,
    attributes: [Attribute(Names.Attribute.obstacle, "needsNetwork")])

  static let attributes = [
    Attribute("text", "Zürich \"\\\n\u{1}\u{2028}🏃"), Attribute("empty", ""), Attribute("yes", true),
    Attribute("no", false), Attribute("zero", 0), Attribute("minus", -1), Attribute("large", .int(.max)),
    Attribute("half", 0.5), Attribute("nothing", 0.0), Attribute("tiny", -1.5e-300),
    Attribute("texts", .strings(["a", ""])), Attribute("flags", .bools([true, false])),
    Attribute("numbers", .ints([0, 300, -300])), Attribute("reals", .doubles([0, 1e21])),
    Attribute("none", .strings([])),
  ]

  static let launch = SpanRecord(
    trace: Fixture.trace, id: Fixture.span, parent: SpanID(hex: "eee19b7ec3c1b173"), traceState: "vendor=1",
    name: Names.Span.launch.name(of: "nightly-index"), kind: Names.Span.launch.kind,
    start: Timestamp(nanoseconds: 1_764_000_000_123_456_789), end: Timestamp(nanoseconds: 1_764_000_001_000_000_000),
    attributes: attributes, events: [event, SpanEvent(time: Timestamp(nanoseconds: 1), name: "")],
    links: [link, SpanLink(trace: Fixture.trace, span: SpanID(2))], status: .error("disk full"),
    flags: [.sampled, .parentIsKnown])

  static let bare = SpanRecord(
    trace: Fixture.trace, id: SpanID(255), name: "", kind: .internal, start: Timestamp(nanoseconds: -5),
    end: .distantFuture, status: .ok, flags: [])

  static let rich = TraceRequest(
    resource: Resource([Attribute("service.name", "baton-worker"), Attribute("process.pid", 4711)]),
    spans: [launch, bare], version: "1.2.3")

  @Test func `a request is byte for byte what the reference implementation writes`() {
    #expect(Self.rich.protobuf.hexadecimal == Self.hex.filter { $0 != "\n" })
  }

  @Test func `the JSON of the same request`() { #expect(Self.rich.json == Self.json) }

  @Test func `a request with many spans has lengths of several bytes, and the spans' own bytes in it`() throws {
    let spans = (1...3000).map { Fixture.span(UInt64($0)) }
    let bytes = TraceRequest(resource: Resource([]), spans: spans, version: "").protobuf
    #expect(bytes.count > 100_000)
    #expect(bytes.suffix(spans[2999].protobuf.count) == spans[2999].protobuf[...])
    let scope = try Self.fields(2, of: Self.fields(1, of: bytes[...])[0])[0]
    #expect(try Self.fields(2, of: scope).map { Array($0) } == spans.map(\.protobuf))
  }

  /// The nested messages with this field number.
  private static func fields(_ number: UInt64, of bytes: ArraySlice<UInt8>) throws -> [ArraySlice<UInt8>] {
    var reader = ProtobufReader(bytes)
    var found: [ArraySlice<UInt8>] = []
    while let field = try reader.next() {
      if field.number == number, case .lengthDelimited(let body) = field.value { found.append(body) }
    }
    return found
  }

  static let json = ##"""
    {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"baton-worker"}\##
    },{"key":"process.pid","value":{"intValue":"4711"}}]},"scopeSpans":[{"scope":{"name":"baton","version":"1\##
    .2.3"},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","traceState":"v\##
    endor=1","parentSpanId":"eee19b7ec3c1b173","name":"launch nightly-index","kind":5,"startTimeUnixNano":"17\##
    64000000123456789","endTimeUnixNano":"1764000001000000000","attributes":[{"key":"text","value":{"stringVa\##
    lue":"Zürich \"\\\n\u0001\u2028🏃"}},{"key":"empty","value":{"stringValue":""}},{"key":"yes","value":{"boo\##
    lValue":true}},{"key":"no","value":{"boolValue":false}},{"key":"zero","value":{"intValue":"0"}},{"key":"m\##
    inus","value":{"intValue":"-1"}},{"key":"large","value":{"intValue":"9223372036854775807"}},{"key":"half"\##
    ,"value":{"doubleValue":0.5}},{"key":"nothing","value":{"doubleValue":0.0}},{"key":"tiny","value":{"doubl\##
    eValue":-1.5e-300}},{"key":"texts","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":""\##
    }]}}},{"key":"flags","value":{"arrayValue":{"values":[{"boolValue":true},{"boolValue":false}]}}},{"key":"\##
    numbers","value":{"arrayValue":{"values":[{"intValue":"0"},{"intValue":"300"},{"intValue":"-300"}]}}},{"k\##
    ey":"reals","value":{"arrayValue":{"values":[{"doubleValue":0.0},{"doubleValue":1e+21}]}}},{"key":"none",\##
    "value":{"arrayValue":{}}}],"events":[{"timeUnixNano":"1764000000200000000","name":"baton.obstacle.came",\##
    "attributes":[{"key":"baton.obstacle","value":{"stringValue":"needsNetwork"}}]},{"timeUnixNano":"1"}],"li\##
    nks":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"0000000000000001","traceState":"a=b","attri\##
    butes":[{"key":"baton.launch.number","value":{"intValue":"1"}}],"flags":769},{"traceId":"5b8efff798038103\##
    d269b633813fc60c","spanId":"0000000000000002"}],"status":{"message":"disk full","code":2},"flags":257},{"\##
    traceId":"5b8efff798038103d269b633813fc60c","spanId":"00000000000000ff","kind":1,"endTimeUnixNano":"92233\##
    72036854775807","status":{"code":1}}]}]}]}
    """##

  static let hex = """
    0ac9050a340a1e0a0c736572766963652e6e616d65120e0a0c6261746f6e2d776f726b65720a120a0b70726f636573732e706964120318e7
    241290050a0e0a056261746f6e1205312e322e3312d0040a105b8efff798038103d269b633813fc60c1208eee19b7ec3c1b1741a0876656e
    646f723d312208eee19b7ec3c1b1732a146c61756e6368206e696768746c792d696e64657830053915cd256fa7fc7a184100ca64a3a7fc7a
    184a1d0a047465787412150a135ac3bc7269636820225c0a01e280a8f09f8f834a0b0a05656d70747912020a004a090a0379657312021001
    4a080a026e6f120210004a0a0a047a65726f120218004a140a056d696e7573120b18ffffffffffffffffff014a130a056c61726765120a18
    ffffffffffffffff7f4a110a0468616c66120921000000000000e03f4a140a076e6f7468696e6712092100000000000000004a110a047469
    6e7912092183b63ad29712b0814a140a057465787473120b2a090a030a01610a020a004a130a05666c616773120a2a080a0210010a021000
    4a230a076e756d6265727312182a160a0218000a0318ac020a0b18d4fdffffffffffffff014a210a057265616c7312182a160a0921000000
    00000000000a092150efe2d6e41a4b444a0a0a046e6f6e6512022a005a400900c2b573a7fc7a1812136261746f6e2e6f62737461636c652e
    63616d651a200a0e6261746f6e2e6f62737461636c65120e0a0c6e656564734e6574776f726b5a090901000000000000006a410a105b8eff
    f798038103d269b633813fc60c120800000000000000011a03613d6222190a136261746f6e2e6c61756e63682e6e756d6265721202180135
    010300006a1c0a105b8efff798038103d269b633813fc60c120800000000000000027a0d12096469736b2066756c6c180285010101000012
    2b0a105b8efff798038103d269b633813fc60c120800000000000000ff300141ffffffffffffff7f7a021801
    """
}
