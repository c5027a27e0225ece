import Testing

@testable import BatonCoordinator

/// What a person who follows the output of a request gets.
@Suite struct SentOutputTests {
  @Test func `each piece of output comes once, also that of an earlier launch`() {
    var sent = SentOutput()
    #expect(sent.news(of: 1, []) == nil)
    #expect(sent.news(of: 1, Array("one".utf8)) == Array("one".utf8))
    #expect(sent.news(of: 2, Array("two".utf8)) == Array("two".utf8))
    #expect(sent.news(of: 1, Array("one".utf8)) == nil)
    #expect(sent.news(of: 1, Array("one more".utf8)) == Array(" more".utf8))
    #expect(sent.news(of: 2, Array("two".utf8)) == nil)
  }

  /// The store keeps the last 64 KiB of a launch.
  @Test func `output whose beginning is gone goes on where it was`() {
    var sent = SentOutput()
    let all = Array((0..<2000).map(String.init).joined(separator: " ").utf8)
    _ = sent.news(of: 1, Array(all[..<3000]))
    #expect(sent.news(of: 1, Array(all[1000...])) == Array(all[3000...]))
    #expect(sent.news(of: 1, Array("other".utf8)) == Array("other".utf8))
  }
}
