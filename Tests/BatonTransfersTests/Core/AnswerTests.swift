import BatonModel
import Testing

@testable import BatonTransfers

@Suite struct AnswerTests {
  private let address = WebAddress("http://a.example/f?signature=1")!

  private func answer(
    _ plan: AttemptPlan, _ status: Int, _ fields: [String: String] = [:], redirects: Int = 0, from: WebAddress? = nil
  ) -> Answer {
    .to(
      plan, head: ResponseHead(status, fields), from: from ?? address, redirects: redirects, at: Samples.date)
  }

  private func code(_ answer: Answer) -> TransferFailure.Code? {
    if case .end(.failed(let failure)) = answer { failure.code } else { nil }
  }

  private func startsOver(_ answer: Answer) -> Bool {
    if case .end(.startOver(_, rangesLie: true)) = answer { true } else { false }
  }

  // MARK: The whole file

  @Test func `a whole file is received from its beginning`() {
    let fields = ["content-length": "10", "etag": "\"v1\""]
    #expect(
      answer(Samples.plan(), 200, fields) == .receive(Reception(from: 0, total: 10, validator: Samples.tag)))
  }

  @Test func `200 in place of 206 is the whole file, from its beginning`() {
    let fields = ["content-length": "10", "etag": "\"v2\""]
    let validator = Validator(text: "\"v2\"", isTag: true)
    #expect(
      answer(Samples.plan(offset: 4, total: 12), 200, fields)
        == .receive(Reception(from: 0, total: 10, validator: validator)))
  }

  @Test func `a file without a length is received`() {
    #expect(answer(Samples.plan(), 200) == .receive(Reception(from: 0, total: nil, validator: nil)))
  }

  @Test(arguments: [200, 203]) func `a file of another length than the transfer says is refused`(status: Int) {
    var transfer = Samples.get
    transfer.size = 11
    #expect(code(answer(Samples.plan(transfer), status, ["content-length": "10"])) == .wrongSize)
    transfer.size = 10
    #expect(code(answer(Samples.plan(transfer), status, ["content-length": "10"])) == nil)
  }

  // MARK: Validators

  @Test(arguments: ["W/\"v1\"", "v1", "\"", "", "\"" + String(repeating: "a", count: 1024) + "\""])
  func `a weak or wrong tag is no validator, and a date beside it neither`(tag: String) {
    let dates = ["last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 09:49:37 GMT"]
    let head = ResponseHead(200, dates.merging(["etag": tag]) { first, _ in first })
    #expect(head.validator == nil)
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("Sun, 06 Nov 1994 08:49:38 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("Sun, 06 Nov 1994 08:49:36 GMT", nil, false), ("yesterday", "Sun, 06 Nov 1994 08:49:37 GMT", false),
  ]) func `the date of the last change is a validator if the file cannot have changed since`(
    changed: String, sent: String?, counts: Bool
  ) {
    var fields = ["last-modified": changed]
    fields["date"] = sent
    #expect(ResponseHead(200, fields).validator == (counts ? Validator(text: changed, isTag: false) : nil))
  }

  // MARK: Parts of the file

  @Test func `the asked part is received behind what is there`() {
    let fields = ["content-range": "bytes 4-9/10", "content-length": "6", "etag": "\"v1\""]
    #expect(
      answer(Samples.plan(offset: 4, total: 10), 206, fields)
        == .receive(Reception(from: 4, total: 10, validator: Samples.tag)))
  }

  @Test func `a part of a file of unknown length is received`() {
    #expect(
      answer(Samples.plan(offset: 4, total: 10), 206, ["content-range": "bytes 4-9/*"])
        == .receive(Reception(from: 4, total: 10, validator: Samples.tag)))
  }

  @Test(arguments: [
    ["content-range": "bytes 5-9/10"], ["content-range": "bytes 0-9/10"], [:], ["content-range": "bytes 4-9"],
    ["content-range": "items 4-9/10"], ["content-range": "bytes 9-4/10"], ["content-range": "bytes 4-10/10"],
    ["content-range": "bytes 4-9/10/11"], ["content-range": "bytes -4-9/10"],
    ["content-range": "bytes 4-99999999999999999999/*"],
    ["content-range": "bytes 4-9/10", "content-length": "5"],
    ["content-range": "bytes 4-9/10", "etag": "\"v2\""], ["content-range": "bytes 4-9/10", "etag": "W/\"v1\""],
    ["content-range": "bytes 4-10/11"],
  ]) func `a part that was not asked for makes the transfer start over, without ranges`(fields: [String: String]) {
    #expect(startsOver(answer(Samples.plan(offset: 4, total: 10), 206, fields)))
  }

  @Test func `a part of a file of another length than the transfer says is refused`() {
    var transfer = Samples.get
    transfer.size = 11
    #expect(code(answer(Samples.plan(transfer, offset: 4), 206, ["content-range": "bytes 4-9/10"])) == .wrongSize)
  }

  @Test func `a part without a question is refused`() {
    #expect(code(answer(Samples.plan(), 206, ["content-range": "bytes 0-9/10"])) == .refusedByServer)
  }

  @Test func `416 at the end of the file says that the file is complete`() {
    #expect(answer(Samples.plan(offset: 10), 416, ["content-range": "bytes */10"]) == .complete)
  }

  @Test(arguments: [(12, nil, "bytes */10"), (10, 12, "bytes */10"), (10, nil, nil), (10, nil, "bytes */x")])
  func `416 elsewhere makes the transfer start over`(offset: Int64, total: Int64?, range: String?) {
    var fields: [String: String] = [:]
    fields["content-range"] = range
    #expect(startsOver(answer(Samples.plan(offset: offset, total: total), 416, fields)))
  }

  @Test func `416 without a range is refused`() {
    #expect(code(answer(Samples.plan(), 416, ["content-range": "bytes */0"])) == .refusedByServer)
  }

  // MARK: Redirects

  @Test(arguments: [301, 302, 303, 307, 308]) func `a redirect is followed`(status: Int) {
    #expect(
      answer(Samples.plan(), status, ["location": "https://b.example/g"]) == .follow(WebAddress("https://b.example/g")!)
    )
  }

  @Test(arguments: [301, 302, 303, 307, 308]) func `a file that is sent follows 307 and 308 only`(status: Int) {
    let answer = answer(Samples.plan(Samples.put), status, ["location": "/g"])
    #expect(status >= 307 ? answer == .follow(WebAddress("http://a.example/g")!) : code(answer) == .redirect)
  }

  @Test func `a transfer follows ten redirects`() {
    let fields = ["location": "/g"]
    #expect(code(answer(Samples.plan(), 302, fields, redirects: 9)) == nil)
    #expect(code(answer(Samples.plan(), 302, fields, redirects: 10)) == .redirect)
  }

  @Test func `a redirect to an unprotected, wrong or missing address is refused`() {
    let secure = WebAddress("https://a.example/f")!
    #expect(code(answer(Samples.plan(), 302, ["location": "http://a.example/f"], from: secure)) == .redirect)
    #expect(code(answer(Samples.plan(), 302, ["location": "file:///etc/passwd"])) == .redirect)
    #expect(code(answer(Samples.plan(), 302)) == .redirect)
  }

  @Test func `credentials are not sent to another host, port or scheme`() {
    var transfer = Samples.get
    transfer.headers = [
      "Authorization": TransferHeader("Bearer ", secret: "token"), "X-Key": TransferHeader("plain"),
      "Accept": TransferHeader("text/plain"), "User-Agent": TransferHeader("", variable: "NAME"),
    ]
    #expect(transfer.headers(for: WebAddress("http://a.example:80/other?x")!) == transfer.headers)
    for other in ["http://b.example/f", "http://a.example:81/f", "https://a.example/f"] {
      #expect(Set(transfer.headers(for: WebAddress(other)!).keys) == ["Accept"], "\(other)")
    }
  }

  // MARK: Other answers

  @Test(arguments: [401, 403, 407]) func `wrong credentials end the transfer`(status: Int) {
    #expect(code(answer(Samples.plan(), status)) == .unauthorized)
  }

  @Test(arguments: [400, 404, 405, 410, 412, 304, 501, 505, 299, 102, 204])
  func `an answer that another attempt would not change ends the transfer`(status: Int) {
    #expect(code(answer(Samples.plan(), status)) == .refusedByServer)
  }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 507, 522]) func `a server that is busy is asked again`(
    status: Int
  ) {
    guard case .end(.busy(let text, let wait)) = answer(Samples.plan(), status) else {
      Issue.record("\(status) is no patience")
      return
    }
    #expect(wait == nil)
    #expect(text == "http://a.example/f?... answered \(status)", "a query may be a signature")
  }

  @Test(arguments: [
    ("120", nil, 120), ("0", nil, 0), ("999999999", nil, 86_400), ("-1", nil, nil), ("soon", nil, nil),
    ("Fri, 15 Jan 2027 08:01:00 GMT", nil, 60), ("Fri, 15 Jan 2027 07:00:00 GMT", nil, 0),
    ("Fri, 15 Jan 2027 08:01:00 GMT", "Fri, 15 Jan 2027 08:00:30 GMT", 30),
  ]) func `Retry-After is a time or a date by the server's clock`(text: String, date: String?, seconds: Int?) {
    var fields = ["retry-after": text]
    fields["date"] = date
    #expect(ResponseHead(503, fields).retryAfter(at: Samples.date) == seconds.map { .seconds($0) })
  }

  @Test func `a length that no file has is not believed`() {
    let largest = String(Int64.max)
    #expect(ResponseHead(200, ["content-length": largest]).contentLength == nil)
    #expect(ResponseHead(206, ["content-range": "bytes 5-9/\(largest)"]).contentRange == nil)
    #expect(ResponseHead(200, ["content-length": "9007199254740992"]).contentLength == 1 << 53)
  }

  @Test(arguments: [200, 201, 202, 204]) func `a file that is sent is accepted`(status: Int) {
    #expect(answer(Samples.plan(Samples.put), status) == .accepted)
  }
}
