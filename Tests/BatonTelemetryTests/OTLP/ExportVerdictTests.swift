import BatonModel
import BatonTelemetry
import Testing

@Suite struct ExportVerdictTests {
  /// 1994-11-06 08:49:37 UTC, RFC 9110's example.
  static let date = Timestamp(nanoseconds: 784_111_777_000_000_000)

  static func verdict(_ status: Int, _ retryAfter: String? = nil, _ hex: String = "") -> ExportVerdict {
    ExportVerdict(status: status, retryAfter: retryAfter, body: [UInt8](hexadecimal: hex)!, at: date)
  }

  @Test(arguments: [429, 502, 503, 504]) func `is sent again`(status: Int) {
    #expect(Self.verdict(status) == .retry(after: nil))
    #expect(Self.verdict(status, "7") == .retry(after: .seconds(7)))
  }

  @Test(arguments: [100, 301, 307, 400, 401, 403, 404, 408, 415, 422, 500, 501, 505, 599])
  func `is dropped`(status: Int) {
    #expect(Self.verdict(status, "7") == .rejected(reason: "HTTP \(status)"))
  }

  @Test func `is sent again in smaller requests`() {
    #expect(Self.verdict(413, "7") == .tooLarge(reason: "HTTP 413"))
  }

  @Test(
    arguments: [
      ("", .delivered), ("0a00", .delivered), ("0a020803", .partial(rejected: 3, message: "")),
      ("0a0412026e6f", .partial(rejected: 0, message: "no")),
      ("3c68", .partial(rejected: 0, message: "the answer is not protobuf, at byte 1")),
    ] as [(String, ExportVerdict)])
  func `is never sent again`(hex: String, verdict: ExportVerdict) {
    for status in [200, 202, 299] { #expect(Self.verdict(status, "7", hex) == verdict) }
  }

  @Test(
    arguments: [
      ("0803120362616a", "HTTP 400: baj"), ("6e6f0a796573", "HTTP 400: no yes"), ("c328", "HTTP 400"),
      ("0803", "HTTP 400:   "),
    ])
  func `a refusal says what the backend said, on one line`(hex: String, reason: String) {
    #expect(Self.verdict(400, nil, hex) == .rejected(reason: reason))
  }

  @Test(arguments: ["<!doctype html><title>404</title>", " \n<html>no</html>"])
  func `a page of HTML is left out of a refusal`(page: String) {
    #expect(ExportVerdict(status: 404, body: Array(page.utf8), at: Self.date) == .rejected(reason: "HTTP 404"))
  }

  @Test func `what a terminal would obey is taken out of a refusal`() {
    let verdict = ExportVerdict(status: 400, body: Array("a\u{1B}[2Jb\u{202E}c\u{2028}d".utf8), at: Self.date)
    #expect(verdict == .rejected(reason: "HTTP 400: a [2Jb c d"))
  }

  @Test func `a refusal is at most a line long`() {
    let long = ExportVerdict(status: 400, body: [UInt8](repeating: 97, count: 5000), at: Self.date)
    #expect(long == .rejected(reason: "HTTP 400: " + String(repeating: "a", count: 200)))
  }

  @Test(
    arguments: [
      ("0", 0), ("120", 120), (" 120 ", 120), ("99999999999999999999", 2_147_483_647), ("-1", nil), ("1.5", nil),
      ("", nil), ("soon", nil),
      ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
      ("Sunday, 06-Nov-94 08:50:37 GMT", 60), ("Sun Nov  6 08:50:37 1994", 60),
      ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400),
      ("Wed, 28 Feb 1996 08:49:37 GMT", 479 * 86_400), ("Fri, 01 Mar 1996 08:49:37 GMT", 481 * 86_400),
      ("Sun, 06 Nov 1994 08:50:37 CET", nil), ("Sun, 06 Nov 1994 24:50:37 GMT", nil),
      ("Sun, 32 Nov 1994 08:50:37 GMT", nil),
      ("Sun, 06 Nov 1994 08:50 GMT", nil), ("Sun, 06 Now 1994 08:50:37 GMT", nil),
      ("Sunday, 06-Nov-43 08:50:37 GMT", 1_546_300_860),
      ("Sunday, 06-Nov-45 08:50:37 GMT", 0), ("Sun, 06 Nov 9999 08:50:37 GMT", nil),
    ] as [(String, Int64?)])
  func `the time that the backend asks for`(header: String, seconds: Int64?) {
    #expect(Self.verdict(503, header) == .retry(after: seconds.map { .seconds($0) }))
  }
}

@Suite struct BackoffTests {
  @Test(
    arguments: [
      (1, 0.0, 0.5), (1, 1.0, 1), (1, 0.5, 0.75), (2, 0, 1), (2, 1, 2), (5, 1, 16), (6, 1, 30), (6, 0, 15), (40, 1, 30),
      (Int.max, 0, 15), (1, 7, 1), (1, -7, 0.5),
    ])
  func `doubles up to 30 s, and half of it is drawn`(attempt: Int, draw: Double, seconds: Double) {
    #expect(Backoff().wait(after: attempt, asked: nil, draw: draw) == .milliseconds(Int(seconds * 1000)))
  }

  @Test(arguments: [(0, 0), (7, 7), (600, 600), (601, 600), (-1, 0)])
  func `what the backend asks for counts for more, up to ten minutes`(asked: Int, seconds: Int) {
    #expect(Backoff().wait(after: 1, asked: .seconds(asked), draw: 0.5) == .seconds(seconds))
  }
}
