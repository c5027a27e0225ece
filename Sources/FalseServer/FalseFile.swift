/// A file on a server, and how honest the server is about it.
package struct FalseFile: Sendable {
  package enum Manner: String, Sendable, CaseIterable {
    /// Ranges, and a strong tag.
    case honest
    /// Ranges, and the date of the last change.
    case dated
    /// The whole file to every question.
    case withoutRanges
    /// Ranges, and a weak tag.
    case weak
    /// The whole file in chunks, so that its length is not said.
    case chunked
    /// A part that begins one byte earlier than it was asked for, and says so.
    case otherRange
    /// A part that begins one byte earlier than it was asked for, and does not say so.
    case shifted
    /// A part of another version, whose tag it tells.
    case otherVersion
    /// A part that is longer than the file that it announces.
    case tooLong
    /// 416 to every range.
    case unsatisfied
  }

  package var bytes: [UInt8]
  package var manner: Manner
  /// The number of the version, which is in the tag and in the date.
  package var version = 1

  package init(_ bytes: [UInt8], _ manner: Manner = .honest) { (self.bytes, self.manner) = (bytes, manner) }

  private var tag: String { "\"v\(version)\"" }
  private var date: String { "Sun, 06 Nov 1994 08:49:\(10 + version) GMT" }
  private static let now = "Sun, 06 Nov 2022 08:49:37 GMT"

  /// Answers a request in the file's manner.
  package func answer(to request: FalseRequest) -> FalseAnswer {
    guard let start = request.rangeStart.map(Int.init), fits(request), manner != .withoutRanges, manner != .chunked
    else { return whole }
    if manner == .unsatisfied { return FalseAnswer(416, [("Content-Range", "bytes */\(bytes.count + 1)")] + length(0)) }
    if start >= bytes.count { return FalseAnswer(416, [("Content-Range", "bytes */\(bytes.count)")] + length(0)) }
    return part(from: start)
  }

  private var whole: FalseAnswer {
    var answer = FalseAnswer(200, validators + (manner == .chunked ? [] : length(bytes.count)), body: bytes[...])
    answer.isChunked = manner == .chunked
    return answer
  }

  private func part(from start: Int) -> FalseAnswer {
    var (sent, told, fields) = (start, start, validators)
    var body = bytes[start...]
    switch manner {
    case .otherRange: (sent, told) = (start - 1, start - 1)
    case .shifted: sent = start - 1
    case .otherVersion: fields = [("ETag", "\"other\"")]
    case .tooLong: body = body + body.prefix(5) + [0]
    case .honest, .dated, .withoutRanges, .weak, .chunked, .unsatisfied: break
    }
    if sent != start { body = bytes[sent..<(manner == .shifted ? bytes.count - 1 : bytes.count)] }
    let range = ("Content-Range", "bytes \(told)-\(bytes.count - 1)/\(bytes.count)")
    var answer = FalseAnswer(206, fields + [range], body: body)
    if manner == .tooLong { answer.isChunked = true } else { answer.fields += length(body.count) }
    return answer
  }

  private var validators: [(name: String, value: String)] {
    switch manner {
    case .weak: [("ETag", "W/" + tag)]
    case .dated: [("Last-Modified", date), ("Date", Self.now)]
    case .honest, .withoutRanges, .chunked, .otherRange, .shifted, .otherVersion, .tooLong, .unsatisfied:
      [("ETag", tag)]
    }
  }

  private func length(_ count: Int) -> [(name: String, value: String)] { [("Content-Length", "\(count)")] }

  /// Whether the range is asked for of the version that the file has. A server that lies does not look.
  private func fits(_ request: FalseRequest) -> Bool {
    guard let condition = request.fields["if-range"] else { return true }
    return switch manner {
    case .honest, .tooLong, .otherRange, .shifted: condition == tag
    case .dated: condition == date
    case .weak: false
    case .withoutRanges, .chunked, .otherVersion, .unsatisfied: true
    }
  }
}
