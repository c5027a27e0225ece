import BatonBase
import BatonModel
import BatonStore
import ContractRows
import Testing

@testable import BatonCommands
@testable import BatonJSON

/// The display of progress, tested as values: records go in, text comes out.
@Suite struct ProgressTests {
  private static let size = CommandEnvironment.TerminalSize(columns: 80, rows: 24)

  private static func record(_ id: Int64, _ completed: Int64, of total: Int64? = 100) -> RequestRecord {
    .example(id, "com.example.n\(id)", .running) {
      $0.progress = Progress(batches: 1, completedUnits: completed, totalUnits: total)
      $0.host = HostName("alpha")
      $0.launches = 1
      $0.startedAt = now
    }
  }

  @Test func `a pipe gets a line per 10 %`() {
    var lines = ProgressLines()
    let told = (0...100).compactMap { lines.line(for: Self.record(1, $0), at: now) }
    #expect(told.count == 11)
    #expect(told[0] == "com.example.n1, request 1: running on alpha, launch 1")
    #expect(told[10] == "com.example.n1, request 1: 100 %, 100 of 100 done")
  }

  @Test func `without a total a pipe gets a line per doubling`() {
    var lines = ProgressLines()
    let told = (0...1000).compactMap { lines.line(for: Self.record(1, $0, of: nil), at: now) }
    #expect(told.count == 11)
    #expect(told.last == "com.example.n1, request 1: 512 done")
  }

  @Test func `a pipe is told how the shards of a divided request stand, and nothing of their launches`() {
    var lines = ProgressLines()
    var record = RequestRecord.divided
    let shards = "1 of 6 shards done, 2 running on 2 hosts, 1 ready, 1 waiting, 1 failed; 3 of 3 lanes in use"
    #expect(
      lines.line(for: record, at: now)
        == "com.example.sums, request 2: running: \(shards) (25 %, 250 of 1000 done)")
    record.launches += 1
    #expect(lines.line(for: record, at: now) == nil, "another shard was launched")
    record.progress.completedUnits = 300
    #expect(lines.line(for: record, at: now) == "com.example.sums, request 2: 30 %, 300 of 1000 done")
    record.state = .ready
    record.shards = ShardSummary(
      lanes: 3, lanesInUse: 3, total: 6, ready: 3, scheduled: 1, succeeded: 1, failed: 1, unitsLeft: 400)
    #expect(
      lines.line(for: record, at: now)
        == "com.example.sums, request 2: ready: waits for a host; 1 of 6 shards done, 3 ready, 1 waiting, 1 failed; "
        + "3 of 3 lanes in use (30 %, 300 of 1000 done)")
  }

  @Test func `progress that falls back after a loss is not told again`() {
    var lines = ProgressLines()
    _ = lines.line(for: Self.record(1, 50), at: now)
    #expect(lines.line(for: Self.record(1, 45), at: now) == nil)
  }

  @Test func `where the command says at its end what failed, no line says it too`() {
    var failed = Self.record(1, 50)
    failed.state = .failed
    for (isJudged, count) in [(true, 1), (false, 2)] {
      var lines = ProgressLines(isJudged: isJudged)
      #expect([Self.record(1, 50), failed].compactMap { lines.line(for: $0, at: now) }.count == count)
    }
  }

  @Test func `a board draws over itself, at most ten times a second`() {
    var board = ProgressBoard(style: .plain)
    #expect(
      board.update(Self.record(1, 10), at: now, size: Self.size)
        == "com.example.n1  [#.........]  10/100 10%  0s  running on alpha, launch 1\n")
    #expect(board.update(Self.record(1, 20), at: now + .milliseconds(99), size: Self.size) == nil)
    #expect(
      board.update(Self.record(1, 50), at: now + .milliseconds(100), size: Self.size)
        == "\r\u{1B}[1A\u{1B}[0Jcom.example.n1  [#####.....]  50/100 50%  100ms  running on alpha, launch 1\n")
  }

  @Test(.contract(33.1)) func `a new title and subtitle are drawn within a second`() {
    let wide = CommandEnvironment.TerminalSize(columns: 200, rows: 24)
    var board = ProgressBoard(style: .plain)
    var record = Self.record(1, 10)
    _ = board.update(record, at: now, size: wide)
    (record.title, record.subtitle) = ("Exporting", "IMG_0121.jpg")
    #expect(board.update(record, at: now + .milliseconds(50), size: wide) == nil, "it was drawn a moment ago")
    #expect(board.draw(at: now + .seconds(1), size: wide).contains("Exporting: IMG_0121.jpg"))
  }

  @Test func `a divided request is one line on a board, with its shards`() {
    let wide = CommandEnvironment.TerminalSize(columns: 200, rows: 24)
    var board = ProgressBoard(style: .plain)
    #expect(
      board.update(.divided, at: now, size: wide)
        == "com.example.sums  [#####...............]  250/1000 25%  5m  running: 1 of 6 shards done, "
        + "2 running on 2 hosts, 1 ready, 1 waiting, 1 failed; 3 of 3 lanes in use\n")
  }

  @Test func `a change of state is drawn at once`() {
    var board = ProgressBoard(style: .plain)
    _ = board.update(Self.record(1, 10), at: now, size: Self.size)
    var ended = Self.record(1, 100)
    ended.state = .succeeded
    #expect(board.update(ended, at: now, size: Self.size) != nil)
  }

  @Test func `no line wraps, and no board is higher than its terminal`() {
    let small = CommandEnvironment.TerminalSize(columns: 50, rows: 6)
    var board = ProgressBoard(style: .plain)
    for id in 1...40 { _ = board.update(Self.record(Int64(id), 5), at: now, size: small) }
    #expect(board.draw(at: now, size: small).isEmpty, "nothing has changed")
    _ = board.erase(size: small)
    let lines = board.draw(at: now, size: small).split(separator: "\n")
    #expect(lines.count == 5)
    #expect(lines.allSatisfy { $0.count < 50 })
    #expect(lines.last == "… and 36 more")
  }

  @Test func `in a window that has become narrower, the rows that the lines were wrapped to are taken away`() {
    let wide = CommandEnvironment.TerminalSize(columns: 100, rows: 24)
    let narrow = CommandEnvironment.TerminalSize(columns: 40, rows: 24)
    for style in [Style.plain, Style(isColoured: true)] {
      var board = ProgressBoard(style: style)
      for id in 1...3 { _ = board.update(Self.record(Int64(id), 5), at: now, size: wide) }
      let text = board.draw(at: now + .seconds(60), size: wide)
      let plain = text.replacing(/\u{1B}\[[0-9;]*[mAJ]/, with: "").split(separator: "\n").map { $0.drop { $0 == "\r" } }
      #expect(plain.count == 3 && plain.allSatisfy { (41...80).contains($0.count) }, "\(plain)")
      #expect(board.draw(at: now + .seconds(60), size: narrow).hasPrefix("\r\u{1B}[6A\u{1B}[0J"))
      #expect(board.erase(size: wide).hasPrefix("\r\u{1B}[3A"))
    }
  }

  @Test func `a board that is left stays, without the terminal's own ^C, and is not drawn over`() {
    var board = ProgressBoard(style: .plain)
    _ = board.update(Self.record(1, 10), at: now, size: Self.size)
    #expect(board.leave() == "\r\u{1B}[0J")
    #expect(board.erase(size: Self.size).isEmpty)
  }

  @Test(arguments: [
    (Duration.milliseconds(0), "0s"), (.milliseconds(340), "340ms"), (.seconds(1), "1s"), (.seconds(192), "3m 12s"),
    (.seconds(180), "3m"), (.seconds(7_500), "2h 5m"), (.seconds(357_000), "4d 3h"), (.seconds(60), "1m"),
  ])
  func `durations are said as people do`(duration: Duration, words: String) {
    #expect(duration.inWords == words)
  }

  @Test func `dates keep their milliseconds, also before 1970`() {
    #expect(now.rfc3339 == "2026-03-01T06:30:00.250Z")
    #expect(Timestamp(nanoseconds: 999_999_999).rfc3339 == "1970-01-01T00:00:00.999Z")
    #expect(Timestamp(nanoseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
    #expect((now + .seconds(900)).relative(to: now) == "in 15m")
    #expect((now + .milliseconds(-20)).relative(to: now) == "now")
  }

  @Test func `a time of day is to the nearest minute, also at midnight`() {
    let midnight = Timestamp(nanoseconds: 1_772_409_600_000_000_000)
    #expect(midnight.clock(on: now) == "00:00 UTC")
    #expect((midnight + .milliseconds(-20)).clock(on: now) == "00:00 UTC")
    #expect((now + .seconds(60)).clock(on: now) == "06:31 UTC")
    #expect((now + .seconds(90_000)).clock(on: now) == "2026-03-02T07:30:00Z")
  }

  @Test func `a table takes width from its last column first`() {
    let columns: [TablePrinter.Column] = [.init("NAME"), .init("N", isNumber: true), .init("DETAIL")]
    let rows: [[Cell]] = [[Cell("alpha"), Cell("1"), Cell("something long that is cut")], ["beta", "12", "漢字"]]
    #expect(
      TablePrinter.lines(columns, rows) == [
        "NAME    N  DETAIL", "alpha   1  something long that is cut", "beta   12  漢字",
      ])
    #expect(
      TablePrinter.lines(columns, rows, width: 24) == [
        "NAME    N  DETAIL", "alpha   1  something lo…", "beta   12  漢字",
      ])
  }

  @Test func `columns stay wide on later pages`() {
    var printer = TablePrinter([.init("NAME"), .init("X")])
    _ = printer.page([[Cell("a long name"), Cell("1")]])
    #expect(printer.page([[Cell("short"), Cell("2")]]) == ["short        2"])
  }

  @Test func `JSON escapes what it must`() {
    #expect(
      JSONValue.string("a\"\\\n\u{1}é\u{2028}\u{9B}\u{202E}\u{E0041}").compact
        == #""a\"\\\n\u0001é\u2028\u009b\u202e\udb40\udc41""#)
    let value: JSONValue = ["b": JSONValue(1), "a": .array([nil, .bool(true)]), "c": .array([])]
    #expect(value.compact == #"{"b":1,"a":[null,true],"c":[]}"#)
    #expect(value.indented == "{\n  \"b\": 1,\n  \"a\": [\n    null,\n    true\n  ],\n  \"c\": []\n}")
  }
}
