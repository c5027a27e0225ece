import BatonModel
import BatonTelemetry
import Testing

/// The text format 0.0.4 of Prometheus; see https://prometheus.io/docs/instrumenting/exposition_formats.
@Suite struct PrometheusTextTests {
  static func text(_ families: MetricFamily...) -> String { MetricsFixture.snapshot(families).prometheusText }

  @Test("Without metrics there is no text at all")
  func empty() {
    #expect(Self.text() == "")
    #expect(Self.text(MetricFamily(MetricDescription("size", "A size.", .gauge))) == "")
  }

  @Test("The media type names the version of the format")
  func mediaType() { #expect(MetricsSnapshot.prometheusType == "text/plain; version=0.0.4; charset=utf-8") }

  @Test(
    "A number is written so that Prometheus reads the same one",
    arguments: [
      (0, "0"), (-0.0, "0"), (3, "3"), (-3, "-3"), (0.5, "0.5"), (1e-7, "1e-07"), (1e15, "1000000000000000"),
      (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ] as [(Double, String)])
  func number(value: Double, text: String) {
    #expect(Self.text(MetricsFixture.gauge(value)) == "# TYPE size gauge\nsize \(text)\n")
  }

  @Test(
    "What would end a label's value is escaped, and nothing else is",
    arguments: [
      ("plain", "plain"), ("", ""), (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#),
      ("a\r\nb", "a\r\\nb"), ("Zürich 🏃 {x=\"1\"}", #"Zürich 🏃 {x=\"1\"}"#), (#"\n"#, #"\\n"#),
    ])
  func label(value: String, text: String) {
    let family = MetricsFixture.gauge(1, [MetricLabel("reason", value)])
    #expect(Self.text(family) == "# TYPE size gauge\nsize{reason=\"\(text)\"} 1\n")
  }

  @Test("A help text has its backslashes and line ends escaped, its quotes not")
  func help() {
    let family = MetricsFixture.gauge(1, help: "A \"size\" \\ of\ntwo.")
    #expect(Self.text(family) == "# HELP size A \"size\" \\\\ of\\ntwo.\n# TYPE size gauge\nsize 1\n")
  }

  @Test("Families come in the order of their names, samples in the order of their labels")
  func order() {
    let states = ["b", "a"].map { MetricFamily.Sample([MetricLabel("state", $0)], .number(1)) }
    let sizes = MetricFamily(MetricDescription("size", "", .gauge), states)
    #expect(
      Self.text(sizes, MetricsFixture.gauge(2, name: "age")) == """
        # TYPE age gauge
        age 2
        # TYPE size gauge
        size{state="a"} 1
        size{state="b"} 1

        """)
  }

  @Test("One name comes once, and one series once, whoever brings it")
  func merging() {
    let (first, again) = (MetricsFixture.gauge(1), MetricsFixture.gauge(2))
    let counter = MetricFamily(MetricDescription("size", "", .counter), [.init([MetricLabel("a", "")], .number(1))])
    #expect(Self.text(first, again, counter) == "# TYPE size gauge\nsize 1\n")
  }

  @Test("A histogram has its buckets summed up, in rising order, and ends with all of its values")
  func histogram() {
    let counts = MetricsFixture.counts([0.5, 1, 10], [0.5, 0.6, 0.1, 10, 11, 12])
    let sample = MetricFamily.Sample([MetricLabel("zone", "x")], .histogram(counts))
    let family = MetricFamily(MetricDescription("wait_seconds", "", .histogram(bounds: counts.bounds)), [sample])
    #expect(
      Self.text(family) == """
        # TYPE wait_seconds histogram
        wait_seconds_bucket{zone="x",le="0.5"} 2
        wait_seconds_bucket{zone="x",le="1"} 3
        wait_seconds_bucket{zone="x",le="10"} 4
        wait_seconds_bucket{zone="x",le="+Inf"} 6
        wait_seconds_sum{zone="x"} 34.2
        wait_seconds_count{zone="x"} 6

        """)
  }

  @Test("What is not a number leaves a histogram as it was", arguments: [Double.nan, .infinity, -.infinity])
  func notFinite(value: Double) {
    #expect(MetricsFixture.counts([1], [value]) == HistogramCounts(bounds: [1]))
  }
}
