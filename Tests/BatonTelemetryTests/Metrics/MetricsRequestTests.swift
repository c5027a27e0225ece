import BatonModel
import Testing

@testable import BatonTelemetry

/// The bytes of a request that uses every field, compared with those of the reference implementation
/// (opentelemetry-proto for Python, `SerializeToString(deterministic=True)`). Its `json_format` has read the JSON back.
@Suite struct MetricsRequestTests {
  private static let bounds: [Double] = [1, 5, 10]

  private static let commits = MetricFamily(
    MetricDescription("baton_commit_seconds", "A time.", .histogram(bounds: bounds)),
    [
      MetricFamily.Sample([], .histogram(MetricsFixture.counts(bounds, [0.5, 2, 11]))),
      MetricFamily.Sample([MetricLabel("disk", "ü\"")], .histogram(HistogramCounts(bounds: bounds))),
    ])

  private static let hosts = MetricFamily(
    MetricDescription("baton_hosts", "", .gauge),
    [("ready", 2), ("gone", 0)].map { MetricFamily.Sample([MetricLabel("condition", $0)], .number($1)) })

  private static let launches = MetricFamily(
    MetricDescription("baton_launches_total", "Launches that ended.", .counter),
    [MetricFamily.Sample([MetricLabel("outcome", ""), MetricsFixture.definition], .number(7))])

  static let request = MetricsRequest(
    resource: Resource([Attribute("service.name", "baton-worker"), Attribute("process.pid", 4711)]),
    snapshot: MetricsFixture.snapshot([launches, hosts, commits]), version: "1.2.3")

  @Test("A request is byte for byte what the reference implementation writes")
  func protobuf() { #expect(Self.request.protobuf.hexadecimal == Self.hex.filter { $0 != "\n" }) }

  @Test("The JSON of the same request")
  func json() { #expect(Self.request.json == Self.json) }

  @Test("Without metrics there is a resource with a scope, and nothing in it")
  func empty() {
    let request = MetricsRequest(resource: Resource([]), snapshot: MetricsFixture.snapshot([]), version: "")
    #expect(request.protobuf.hexadecimal == "0a0d0a0012090a070a056261746f6e")
    #expect(request.json == #"{"resourceMetrics":[{"resource":{},"scopeMetrics":[{"scope":{"name":"baton"}}]}]}"#)
  }

  @Test("What is no finite number has a name in JSON", arguments: [(Double.infinity, "Infinity"), (.nan, "NaN")])
  func notFinite(value: Double, name: String) {
    let snapshot = MetricsFixture.snapshot([MetricsFixture.gauge(value)])
    #expect(MetricsRequest(resource: Resource([]), snapshot: snapshot).json.contains(#""asDouble":"\#(name)""#))
  }

  static let json = ##"""
    {"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"baton-worker"}}\##
    ,{"key":"process.pid","value":{"intValue":"4711"}}]},"scopeMetrics":[{"scope":{"name":"baton","version":"1.2\##
    .3"},"metrics":[{"name":"baton_commit_seconds","description":"A time.","unit":"s","histogram":{"dataPoints":\##
    [{"startTimeUnixNano":"1764000000000000000","timeUnixNano":"1764000060000000001","count":"3","sum":13.5,"buc\##
    ketCounts":["1","1","0","1"],"explicitBounds":[1.0,5.0,10.0]},{"startTimeUnixNano":"1764000000000000000","ti\##
    meUnixNano":"1764000060000000001","sum":0.0,"bucketCounts":["0","0","0","0"],"explicitBounds":[1.0,5.0,10.0]\##
    ,"attributes":[{"key":"disk","value":{"stringValue":"ü\""}}]}],"aggregationTemporality":2}},{"name":"baton_h\##
    osts","unit":"1","gauge":{"dataPoints":[{"timeUnixNano":"1764000060000000001","asDouble":0.0,"attributes":[{\##
    "key":"condition","value":{"stringValue":"gone"}}]},{"timeUnixNano":"1764000060000000001","asDouble":2.0,"at\##
    tributes":[{"key":"condition","value":{"stringValue":"ready"}}]}]}},{"name":"baton_launches_total","descript\##
    ion":"Launches that ended.","unit":"1","sum":{"dataPoints":[{"startTimeUnixNano":"1764000000000000000","time\##
    UnixNano":"1764000060000000001","asDouble":7.0,"attributes":[{"key":"definition","value":{"stringValue":"a.b\##
    "}},{"key":"outcome","value":{"stringValue":""}}]}],"aggregationTemporality":2,"isMonotonic":true}}]}]}]}
    """##

  static let hex = """
    0a9c040a340a1e0a0c736572766963652e6e616d65120e0a0c6261746f6e2d776f726b65720a120a0b70726f636573732e706964120318e7
    2412e3030a0e0a056261746f6e1205312e322e3312f1010a146261746f6e5f636f6d6d69745f7365636f6e64731207412074696d652e1a01
    734acc010a60110000ca67a7fc7a181901581160b5fc7a18210300000000000000290000000000002b403220010000000000000001000000
    00000000000000000000000001000000000000003a18000000000000f03f000000000000144000000000000024400a66110000ca67a7fc7a
    181901581160b5fc7a18290000000000000000322000000000000000000000000000000000000000000000000000000000000000003a1800
    0000000000f03f000000000000144000000000000024404a0d0a046469736b12050a03c3bc22100212650a0b6261746f6e5f686f7374731a
    01312a530a271901581160b5fc7a182100000000000000003a130a09636f6e646974696f6e12060a04676f6e650a281901581160b5fc7a18
    2100000000000000403a140a09636f6e646974696f6e12070a05726561647912760a146261746f6e5f6c61756e636865735f746f74616c12
    144c61756e63686573207468617420656e6465642e1a01313a450a3f110000ca67a7fc7a181901581160b5fc7a18210000000000001c403a
    130a0a646566696e6974696f6e12050a03612e623a0d0a076f7574636f6d6512020a0010021801
    """
}
