/// Makes text of another process safe for a log, a message or a terminal.
extension String {
  /// The longest beginning of the text that has at most `limit` bytes of UTF-8 and ends between two Unicode scalars.
  package func cut(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, limit))
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }

  /// The first 255 bytes of the text, escaped as in `escaped`.
  package var escapedOnOneLine: String { cut(toBytes: 255).escaped }

  /// The text on one line: each character that a terminal or a reader of lines obeys is written as `\n`, `\r`, `\t`
  /// or `\u{1B}`. These characters are control characters, line separators, and marks that change the direction of the
  /// text after them. The length is not limited.
  package var escaped: String {
    guard unicodeScalars.contains(where: \.isControl) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        if scalar.isControl {
          text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
    }
    return text
  }
}

extension Unicode.Scalar {
  /// True for a character that a terminal or a reader of lines obeys instead of showing it: control characters, line
  /// and paragraph separators, and the marks of bidirectional text.
  package var isControl: Bool {
    switch value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
