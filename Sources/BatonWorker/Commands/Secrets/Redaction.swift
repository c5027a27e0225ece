/// Replaces the values of secrets in what a command writes. Each stretch of bytes that values cover becomes one `•••`,
/// whether the values overlap, touch each other or contain each other.
///
/// Values of fewer than 6 bytes are not looked for: they would be found in ordinary text. A value is also found in the
/// form that it has within a JSON string. It is not found in other forms, such as Base64.
struct Redaction: Sendable {
  static let leastBytes = 6
  static let replacement = "•••"

  /// Finds nothing.
  static let none = Redaction([])

  fileprivate let values: [Value]
  /// Whether a byte is the first one of a value.
  fileprivate let isFirst: [Bool]

  init(_ secrets: some Sequence<[UInt8]>) {
    let texts = secrets.flatMap { [$0, JSONText.escaped($0)] }.filter { $0.count >= Self.leastBytes }
    values = Set(texts).sorted { $0.lexicographicallyPrecedes($1) }.map(Value.init)
    var isFirst = [Bool](repeating: false, count: 256)
    for value in values { isFirst[Int(value.bytes[0])] = true }
    self.isFirst = isFirst
  }

  var isEmpty: Bool { values.isEmpty }

  /// The bytes without the values.
  func redacted(_ bytes: [UInt8]) -> [UInt8] {
    if isEmpty { return bytes }
    var stream = RedactedStream(self)
    return stream.append(bytes) + stream.finish()
  }

  /// The text without the values.
  func redacted(_ text: String) -> String {
    if isEmpty { return text }
    let bytes = Array(text.utf8)
    let redacted = redacted(bytes)
    return redacted == bytes ? text : String(decoding: redacted, as: UTF8.self)
  }

  /// Whether the bytes contain a value.
  func finds(in bytes: [UInt8]) -> Bool { !isEmpty && redacted(bytes) != bytes }

  /// A value, prepared for a search that reads each byte once (Knuth, Morris and Pratt).
  fileprivate struct Value: Sendable {
    let bytes: [UInt8]
    /// For each beginning of the value, the length of its longest proper beginning that is also its end. Without it, a
    /// command could make the search slow with a value that repeats itself.
    let borders: [Int]

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      var borders = [0, 0]
      var length = 0
      for index in bytes.indices.dropFirst() {
        while length > 0, bytes[index] != bytes[length] { length = borders[length] }
        if bytes[index] == bytes[length] { length += 1 }
        borders.append(length)
      }
      self.borders = borders
    }

    /// The length of the longest beginning of the value that ends with `byte`, where `matched` bytes of it came before.
    /// `matched` is less than the length of the value.
    func matched(_ matched: Int, then byte: UInt8) -> Int {
      var length = matched
      while length > 0, bytes[length] != byte { length = borders[length] }
      return bytes[length] == byte ? length + 1 : 0
    }
  }
}

/// Redacts output that comes in pieces. It holds back the end of the output only while that end may be the beginning of
/// a value, so at most one byte less than the longest value has.
struct RedactedStream: Sendable {
  private let redaction: Redaction
  /// For each value, how many of its first bytes are the end of the output so far.
  private var matched: [Int]
  /// The bytes that were not given out yet.
  private var held: [UInt8] = []
  /// The indices in `held` that values cover, in the order of their ends.
  private var covered: [Range<Int>] = []
  /// Whether a replacement was given out last.
  private var endsCovered = false

  init(_ redaction: Redaction) {
    self.redaction = redaction
    matched = Array(repeating: 0, count: redaction.values.count)
  }

  /// Takes a piece of the output. Returns what can be given out.
  mutating func append(_ bytes: [UInt8]) -> [UInt8] {
    if redaction.isEmpty { return bytes }
    let start = held.count
    held += bytes
    search(from: start)
    return give(held.count - (matched.max() ?? 0))
  }

  /// Returns what was held back, at the end of the output.
  mutating func finish() -> [UInt8] {
    defer { self = RedactedStream(redaction) }
    return give(held.count)
  }

  private mutating func search(from start: Int) {
    var isIdle = matched.allSatisfy { $0 == 0 }
    for index in start..<held.count {
      let byte = held[index]
      if isIdle, !redaction.isFirst[Int(byte)] { continue }
      isIdle = true
      for number in matched.indices {
        let value = redaction.values[number]
        let length = value.matched(matched[number], then: byte)
        matched[number] = length == value.bytes.count ? value.borders[length] : length
        if length == value.bytes.count { covered.append(index + 1 - length..<index + 1) }
        if matched[number] > 0 { isIdle = false }
      }
    }
  }

  /// Gives out the first `end` bytes, and keeps the others.
  private mutating func give(_ end: Int) -> [UInt8] {
    var given: [UInt8] = []
    var index = 0
    for stretch in Self.merged(covered) where stretch.lowerBound < end {
      if stretch.lowerBound > index { endsCovered = false }
      given += held[index..<stretch.lowerBound]
      if !endsCovered { given += Redaction.replacement.utf8 }
      endsCovered = true
      index = min(stretch.upperBound, end)
    }
    if index < end { endsCovered = false }
    given += held[index..<end]
    held.removeFirst(end)
    covered = covered.filter { $0.upperBound > end }.map { max($0.lowerBound - end, 0)..<$0.upperBound - end }
    return given
  }

  /// The ranges in their order, with those that overlap or touch each other joined.
  private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}

/// The bytes of a text within a JSON string.
private enum JSONText {
  static func escaped(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
      case 0x0A: Array("\\n".utf8)
      case 0x0D: Array("\\r".utf8)
      case 0x09: Array("\\t".utf8)
      default: [byte]
      }
    }
  }
}
