extension SourceText {
  /// The bytes without a byte order mark.
  /// - Throws: a `TextError` with the first reason why the bytes are not YAML text.
  static func checked(_ bytes: [UInt8]) throws(TextError) -> [UInt8] {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw TextError(message: "the file is UTF-16; save it as UTF-8")
    }
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    try checkCharacters(text)
    return text
  }

  private static func checkCharacters(_ bytes: [UInt8]) throws(TextError) {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var position = Position.start
    var previous: Unicode.Scalar = " "
    while true {
      switch decoder.decode(&iterator) {
      case .emptyInput: return
      case .error:
        throw TextError(position: position, message: "the file is not UTF-8 text from here on; save it as UTF-8")
      case .scalarValue(let scalar):
        guard isAllowed(scalar) else { throw forbidden(scalar, at: position) }
        position = advanced(position, over: scalar, after: previous)
        previous = scalar
      }
    }
  }

  private static func forbidden(_ scalar: Unicode.Scalar, at position: Position) -> TextError {
    let code = "U+" + String(scalar.value, radix: 16, uppercase: true).leftPadded(to: 4, with: "0")
    let message =
      scalar == "\0"
      ? "the file is binary: it has a NUL byte here" : "the control character \(code) cannot stand in YAML; remove it"
    return TextError(position: position, message: message)
  }

  /// Whether YAML permits the character (YAML 1.1, section 5.1).
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: true
    default: false
    }
  }

  private static func advanced(
    _ position: Position, over scalar: Unicode.Scalar, after previous: Unicode.Scalar
  ) -> Position {
    switch scalar.value {
    case 0x0A where previous == "\r": position
    case 0x0A, 0x0D, 0x85, 0x2028, 0x2029: Position(line: position.line + 1, column: 1)
    default: Position(line: position.line, column: position.column + 1)
    }
  }

  /// The offset of the first byte of each line. The line breaks are those that libyaml counts: LF, CR, CR LF, NEL, LS
  /// and PS.
  static func lineStarts(of bytes: [UInt8]) -> [Int] {
    var starts = [0]
    for index in bytes.indices where endsLine(bytes, index) { starts.append(index + 1) }
    return starts
  }

  private static func endsLine(_ bytes: [UInt8], _ index: Int) -> Bool {
    switch bytes[index] {
    case 0x0A: true
    case 0x0D: index + 1 == bytes.count || bytes[index + 1] != 0x0A
    case 0x85: index >= 1 && bytes[index - 1] == 0xC2
    case 0xA8, 0xA9: index >= 2 && bytes[index - 1] == 0x80 && bytes[index - 2] == 0xE2
    default: false
    }
  }
}

extension String {
  func leftPadded(to length: Int, with character: Character) -> String {
    String(repeating: character, count: max(0, length - count)) + self
  }
}
