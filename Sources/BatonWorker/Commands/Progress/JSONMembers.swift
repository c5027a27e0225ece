/// The members of a JSON object, each value with its original bytes: a command gets its checkpoint back exactly as it
/// wrote it. The text must be valid JSON, and an object in UTF-8 (`isObject`).
struct JSONMembers {
  /// Whether valid JSON is an object in UTF-8. Decoders also take a byte order mark before it, and other encodings of
  /// Unicode, in which each character of ASCII has a byte 0.
  static func isObject(_ bytes: [UInt8]) -> Bool {
    bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{") && !bytes.contains(0)
  }

  private(set) var members: [(key: String, value: ArraySlice<UInt8>)] = []
  private let bytes: [UInt8]
  private var index = 0

  init(of bytes: [UInt8]) {
    self.bytes = bytes
    skipSpace()
    index += 1  // The opening brace.
    skipSpace()
    while current != UInt8(ascii: "}"), current != nil {
      let key = String(decoding: value().dropFirst().dropLast(), as: UTF8.self)
      skipSpace()
      index += 1  // The colon.
      skipSpace()
      members.append((key, value()))
      skipSpace()
      if current == UInt8(ascii: ",") { index += 1 }
      skipSpace()
    }
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  /// Skips the value that begins here, and returns its bytes.
  private mutating func value() -> ArraySlice<UInt8> {
    let start = index
    var depth = 0
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        index += 1
      case UInt8(ascii: "}") where depth == 0, UInt8(ascii: ",") where depth == 0: return trimmed(start)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        index += 1
      default: index += 1
      }
      if depth == 0, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { break }
    }
    return trimmed(start)
  }

  private mutating func skipString() {
    index += 1
    while let byte = current, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
    index += 1
  }

  /// The bytes from `start` up to here, without the white space that may follow a number or a word.
  private func trimmed(_ start: Int) -> ArraySlice<UInt8> {
    var end = min(index, bytes.count)
    while end > start, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[end - 1]) { end -= 1 }
    return bytes[min(start, end)..<end]
  }
}
