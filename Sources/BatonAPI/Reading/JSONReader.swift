/// A JSON value that a caller has sent, with its place in the text.
struct JSONTree: Hashable, Sendable {
  indirect enum Value: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A whole number that fits, also as `2.0`; other numbers have none.
    case number(Int64?)
    case string(String)
    case array([JSONTree])
    case object([Member])
  }

  struct Member: Hashable, Sendable {
    var key: String
    var value: JSONTree
  }

  var value: Value
  /// Which bytes of the text it is.
  var range: Range<Int>

  /// What the value is, for messages.
  var kind: String {
    switch value {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

/// Reads JSON strictly (RFC 8259): UTF-8, no key twice in an object, bounded nesting. It keeps the place of each value,
/// so that a payload is passed on as it was written and a mistake can be found. No decoder of the platform does either.
struct JSONReader {
  /// Why a text is not JSON, and where.
  struct Mistake: Error, Hashable {
    var message: String
    var offset: Int
  }

  /// The deepest nesting.
  static let depth = 32

  private let bytes: [UInt8]
  private var position = 0

  static func read(_ bytes: [UInt8]) throws(Mistake) -> JSONTree {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw Mistake(message: "the text is not UTF-8", offset: 0)
    }
    var reader = JSONReader(bytes: bytes)
    reader.skipSpace()
    let tree = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.position == bytes.count else { throw reader.mistake("something stands behind the value") }
    return tree
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func mistake(_ message: String) -> Mistake { Mistake(message: message, offset: position) }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }

  private mutating func take(_ byte: Character) -> Bool {
    guard next == byte.asciiValue else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(Mistake) -> JSONTree {
    guard depth < Self.depth else { throw mistake("values are nested more than \(Self.depth) deep") }
    let start = position
    let found: JSONTree.Value
    switch next {
    case UInt8(ascii: "{"): found = .object(try members(depth: depth))
    case UInt8(ascii: "["): found = .array(try elements(depth: depth))
    case UInt8(ascii: "\""): found = .string(try string())
    case UInt8(ascii: "t"): found = try word("true", .bool(true))
    case UInt8(ascii: "f"): found = try word("false", .bool(false))
    case UInt8(ascii: "n"): found = try word("null", .null)
    case .some(let byte) where byte == UInt8(ascii: "-") || Self.isDigit(byte): found = try number()
    case .some: throw mistake("no JSON value begins so")
    case nil: throw mistake("the text ends where a value is expected")
    }
    return JSONTree(value: found, range: start..<position)
  }

  private mutating func word(_ word: String, _ value: JSONTree.Value) throws(Mistake) -> JSONTree.Value {
    guard bytes[position...].starts(with: word.utf8) else { throw mistake("no JSON value begins so") }
    position += word.utf8.count
    return value
  }

  private mutating func members(depth: Int) throws(Mistake) -> [JSONTree.Member] {
    var (members, keys): ([JSONTree.Member], Set<String>) = ([], [])
    position += 1
    skipSpace()
    if take("}") { return [] }
    while true {
      guard next == UInt8(ascii: "\"") else { throw mistake("a key is expected, in double quotes") }
      let key = try string()
      guard keys.insert(key).inserted else { throw mistake("the key '\(key)' stands twice in one object") }
      skipSpace()
      guard take(":") else { throw mistake("a colon is expected") }
      skipSpace()
      members.append(JSONTree.Member(key: key, value: try value(depth: depth + 1)))
      skipSpace()
      if take("}") { return members }
      guard take(",") else { throw mistake("a comma or '}' is expected") }
      skipSpace()
    }
  }

  private mutating func elements(depth: Int) throws(Mistake) -> [JSONTree] {
    var elements: [JSONTree] = []
    position += 1
    skipSpace()
    if take("]") { return [] }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if take("]") { return elements }
      guard take(",") else { throw mistake("a comma or ']' is expected") }
      skipSpace()
    }
  }

  private mutating func number() throws(Mistake) -> JSONTree.Value {
    let start = position
    _ = take("-")
    if !take("0") { try digits() }
    var isWhole = true
    if take(".") {
      isWhole = false
      try digits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isWhole = false
      position += 1
      if !take("+") { _ = take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    return .number(isWhole ? Int64(text) : Double(text).flatMap { Int64(exactly: $0) })
  }

  private mutating func digits() throws(Mistake) {
    let start = position
    while let byte = next, Self.isDigit(byte) { position += 1 }
    guard position > start else { throw mistake("a digit is expected") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private mutating func string() throws(Mistake) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try escaped()).utf8)
      case 0..<0x20: throw mistake("a text has control characters only as escapes, such as \\n")
      default:
        text.append(byte)
        position += 1
      }
    }
    throw mistake("the text ends within a string")
  }

  private mutating func escaped() throws(Mistake) -> Unicode.Scalar {
    position += 1
    defer { position += 1 }
    switch next {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicode()
    default: throw mistake("JSON has no such escape")
    }
  }

  /// Reads `uXXXX`, or a pair of surrogates. Afterwards the position is at the last digit.
  private mutating func unicode() throws(Mistake) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xD800..<0xDC00).contains(first), bytes[(position + 1)...].starts(with: "\\u".utf8) else {
      throw mistake("half of a pair of surrogates")
    }
    position += 2
    let second = try unit()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw mistake("half of a pair of surrogates") }
    return scalar
  }

  private mutating func unit() throws(Mistake) -> UInt32 {
    let digits = bytes[(position + 1)...].prefix(4)
    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw mistake("four hexadecimal digits are expected") }
    position += 4
    return unit
  }
}
