import BatonModel
import Testing

@testable import BatonCoordinator

/// What of a request's output is passed on, and in which order.
@Suite struct LogCourseTests {
  private static func piece(_ text: String, at second: Int64? = nil) -> OutputPiece {
    OutputPiece(takenAt: second.map { Timestamp(nanoseconds: $0 * 1_000_000_000) }, bytes: Array(text.utf8))
  }

  private static let request = LogCourse.Source(request: RequestID(1), launches: 2, isEnded: false)

  private static func text(_ pieces: [LogPiece]) -> [String] {
    pieces.map { "\($0.launch): " + String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test func `without a choice, pieces come at once, each with its time`() {
    var course = LogCourse(LogSelection(follows: true))
    let news = course.news(of: Self.request, launch: 1, [Self.piece("a\n", at: 1), Self.piece("b\n", at: 2)])
    #expect(Self.text(news) == ["1: a\n", "1: b\n"])
    #expect(news.map(\.takenAt?.nanoseconds) == [1_000_000_000, 2_000_000_000])
    #expect(course.takePast().isEmpty)
    let more = course.news(
      of: Self.request, launch: 1, [Self.piece("a\n", at: 1), Self.piece("b\nc\n", at: 2)])
    #expect(Self.text(more) == ["1: c\n"])
  }

  @Test(arguments: [
    (0, ""), (1, "d"), (2, "c\nd"), (3, "bc\nd"), (9, "a\nbc\nd"),
  ])
  func `the last lines are those of all launches together`(count: Int, lines: String) {
    var course = LogCourse(LogSelection(follows: true, tail: count))
    #expect(course.news(of: Self.request, launch: 1, [Self.piece("a\nb")]).isEmpty)
    #expect(course.news(of: Self.request, launch: 2, [Self.piece("c\nd")]).isEmpty)
    #expect(String(decoding: course.takePast().flatMap(\.bytes), as: UTF8.self) == lines)
    let news = course.news(of: Self.request, launch: 2, [Self.piece("c\nd\ne\n")])
    #expect(Self.text(news) == ["2: \ne\n"], "what comes later is not counted")
  }

  @Test func `the last lines of much output are the last ones too`() {
    var course = LogCourse(LogSelection(tail: 3))
    for launch in 1...40 {
      let text = (0..<10_000).map { "\(launch).\($0)\n" }.joined()
      #expect(course.news(of: Self.request, launch: launch, [Self.piece(text)]).isEmpty)
    }
    #expect(Self.text(course.takePast()) == ["40: 40.9997\n", "40: 40.9998\n", "40: 40.9999\n"])
  }

  @Test func `what came before the time is left out, and output without a time is not`() {
    var course = LogCourse(LogSelection(since: Timestamp(nanoseconds: 2_000_000_000)))
    let news = course.news(
      of: Self.request, launch: 1, [Self.piece("old\n", at: 1), Self.piece("new\n", at: 2), Self.piece("?\n")])
    #expect(Self.text(news) == ["1: new\n", "1: ?\n"])
  }

  @Test func `shards have output of their own`() {
    var course = LogCourse(LogSelection(shards: .all))
    let shards = [0, 1].map { LogCourse.Source(request: RequestID(1), shard: $0, launches: 1, isEnded: false) }
    let news = shards.flatMap { course.news(of: $0, launch: 1, [Self.piece("same\n")]) }
    #expect(news.map(\.shard) == [0, 1])
  }
}
