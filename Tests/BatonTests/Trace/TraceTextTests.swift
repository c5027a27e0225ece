import BatonModel
import BatonTelemetry
import Testing

@testable import BatonCommands
@testable import BatonJSON

/// What `baton trace` prints for people.
@Suite struct TraceTextTests {
  static func text(
    _ trace: RequestTrace, width: Int? = nil, all: Bool = false, style: Style = .plain, link: String? = nil
  ) -> String {
    TraceText(TraceSample.name, trace, link: link, showsAll: all, style: style, width: width).lines
      .map { $0 + "\n" }.joined()
  }

  static let samples: [String: RequestTrace] = [
    "slow": TraceSample.slow, "running": TraceSample.running, "waiting": TraceSample.waiting,
    "scheduled": TraceSample.scheduled, "failed": TraceSample.failed, "long": TraceSample.long,
    "transfers": TraceSample.transfers, "divided": TraceSample.divided(shards: 64, lanes: 8),
    "shards": TraceSample.divided(shards: 6, lanes: 3),
  ]

  @Test(arguments: samples.keys.sorted()) func `a trace is golden`(name: String) throws {
    try Golden.expect(Self.text(#require(Self.samples[name])), is: "trace-\(name)")
  }

  @Test func `a wide terminal shows more of the slow request`() throws {
    try Golden.expect(Self.text(TraceSample.slow, width: 140), is: "trace-slow-wide")
  }

  @Test(arguments: [40, 52, 60, 72, 80, 100, 140, 300], samples.keys.sorted())
  func `no line is wider than the terminal`(width: Int, name: String) throws {
    let trace = try #require(Self.samples[name])
    for all in [false, true] {
      let lines = Self.text(trace, width: width, all: all).split(separator: "\n").dropFirst(5)
      let tooWide = lines.filter { String($0).columns > width }
      #expect(tooWide.isEmpty, "\(tooWide)")
    }
  }

  @Test func `from 80 columns on the host of every launch can be read`() {
    for line in Self.text(TraceSample.slow, width: 80).split(separator: "\n") where line.hasPrefix("launch") {
      #expect(line.contains("anna") || line.contains("ben"))
    }
  }

  @Test(arguments: samples.keys.sorted()) func `colour adds nothing that is not in the text`(name: String) throws {
    let trace = try #require(Self.samples[name])
    let coloured = Self.text(trace, style: Style(isColoured: true))
    #expect(coloured.contains("\u{1B}["))
    #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == Self.text(trace))
  }

  @Test(arguments: [
    ("slow", Style.Colour.yellow, "expired powerLost, anna"), ("slow", .green, "finished, ben"),
    ("slow", .yellow, "powerLost, in time"), ("failed", .red, "failed, anna, 4 batches"),
    ("failed", .red, "lost, ben, 0 batches"), ("failed", .red, "error: exit status 2"),
    ("running", .cyan, "running so far, anna"), ("running", .yellow, "stopping so far, thermal"),
  ])
  func `a failure is red, an expiry yellow`(name: String, colour: Style.Colour, text: String) throws {
    let style = Style(isColoured: true)
    #expect(Self.text(try #require(Self.samples[name]), style: style).contains(style.paint(text, colour)))
  }

  @Test func `of many launches the first, the last and the longest are shown, and all with --all`() {
    func launches(_ text: String) -> [Int] {
      text.matches(of: #/(?m)^launch (\d+) /#).compactMap { Int($0.output.1) }
    }
    let short = Self.text(TraceSample.long)
    #expect(launches(short) == [1, 2, 3, 4, 5, 77, 197, 198, 199, 200, 201])
    let hidden = short.matches(of: #/(?m)^… (\d+) more launch/#).compactMap { Int($0.output.1) }
    #expect(hidden.reduce(0, +) + launches(short).count == 201)
    #expect(launches(Self.text(TraceSample.long, all: true)) == Array(1...201))
  }

  @Test(arguments: [15, 16, 17, 200]) func `of many lanes as many are shown as people read`(lanes: Int) {
    let trace = TraceSample.divided(shards: 4 * lanes, lanes: lanes)
    let text = Self.text(trace)
    #expect(text.matches(of: #/(?m)^lane \d+ /#).count == (lanes > 16 ? 15 : lanes))
    #expect(text.contains("… \(lanes - 15) more lanes") == (lanes > 16))
    #expect(text.contains("  Lanes  \(lanes) at once, for \(4 * lanes) shards in \(4 * lanes + 1) launches\n"))
    #expect(text.split(separator: "\n").count < 32)
    let all = Self.text(trace, all: true)
    #expect(all.matches(of: #/(?m)^shard \d+, launch \d+ /#).count == 4 * lanes + 1)
  }

  @Test(arguments: [20, 21]) func `up to twenty launches are all shown`(count: Int) {
    let trace = TraceSample.made { sample in
      for number in 0..<count { sample.launch(Double(number), Double(number + 1), on: "anna", .expired, "thermal") }
      sample.complete(Double(count), .succeeded)
    }
    #expect(Self.text(trace).contains("more launches") == (count > 20))
    #expect(!Self.text(trace, all: true).contains("more launches"))
  }

  @Test func `of many events of one name the first three are shown`() {
    let trace = TraceSample.made { sample in
      sample.launch(0, 100, on: "anna", .finished)
      for number in 1...9 { sample.event("baton.poked", Double(number), "person \(number)") }
      sample.event("baton.suspect", 50, "for 1m, on anna")
      sample.complete(100, .succeeded)
    }
    let text = Self.text(trace)
    #expect(text.contains("person 3") && !text.contains("person 4"))
    #expect(text.contains("… 6 more") && text.contains("suspect"))
    #expect(Self.text(trace, all: true).contains("person 9"))
  }

  @Test func `a gap of less than a second is no row`() {
    let trace = TraceSample.made { sample in
      sample.launch(0.9, 50, on: "anna", .expired, "thermal")
      sample.launch(51, 100, on: "anna", .finished)
      sample.complete(100, .succeeded)
    }
    #expect(Self.text(trace).split(separator: "\n").filter { $0.hasPrefix("scheduled") }.count == 1)
  }

  @Test func `the address stands where there is one`() {
    #expect(Self.text(TraceSample.slow, link: "http://127.0.0.1/4b4b").contains("\n  Link   http://127.0.0.1/4b4b\n"))
    #expect(!Self.text(TraceSample.slow).contains("Link"))
  }

  @Test func `a hostile name cannot write to the terminal`() {
    let trace = TraceSample.made { sample in
      sample.wait(0, 5, [("\u{1B}[2J", 0, 5)])
      sample.launch(5, 9, on: "\u{1B}[31manna\n", .expired, "\u{1B}]0;x\u{07}", error: "\u{1B}[2J\nx")
      sample.event("baton.\u{1B}[2J", 6, "\u{1B}[2J")
      sample.complete(9, .failed, error: "\u{1B}[2J")
    }
    #expect(!Self.text(trace).contains { $0 == "\u{1B}" || $0 == "\u{07}" })
    #expect(!Self.text(trace, all: true).contains("\u{1B}"))
  }

  @Test func `a trace without a span says so`() {
    let text = Self.text(RequestTrace(spans: [], asOf: TraceSample.submitted))
    #expect(text.hasSuffix("\nthere are no spans yet\n"))
  }

  @Test func `any answer of a coordinator is drawn without a crash`() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<200 {
      let trace = RequestTrace.random(using: &generator)
      let width = Int.random(in: 1...120, using: &generator)
      _ = Self.text(trace, width: width, all: Bool.random(using: &generator))
      let summary = TraceSummary(trace)
      // Differences of more than 292 years do not fit into 64 bits of nanoseconds.
      guard summary.total < .seconds(9_000_000_000) else { continue }
      #expect(summary.scheduled + summary.waiting + summary.running + summary.ended == summary.total)
    }
  }
}
