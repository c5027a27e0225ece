/// Makes text of other people and programs safe to print: names of hosts and devices, titles, reasons, messages.
extension String {
  /// The text on one line, without characters that act on a terminal or change the order of the text beside them.
  ///
  /// Line breaks and tabs become spaces; every other such character becomes its code, as in `\u{1b}`. Without this, a
  /// worker with the name `ESC ]0;title BEL` could write to the terminal of each operator who lists the hosts.
  package var onOneLine: String { escaped(keepsLineBreaks: false) }

  /// The text as `onOneLine` makes it, except that line feeds stay.
  package var onItsLines: String { escaped(keepsLineBreaks: true) }

  private func escaped(keepsLineBreaks: Bool) -> String {
    guard unicodeScalars.contains(where: { !$0.isPrintable && !(keepsLineBreaks && $0 == "\n") }) else { return self }
    var plain = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      switch scalar {
      case "\n" where keepsLineBreaks: plain.append(scalar)
      case "\n", "\r", "\t": plain.append(" ")
      case _ where scalar.isPrintable: plain.append(scalar)
      default: plain.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      }
    }
    return String(plain)
  }

  /// This JSON text with every unprintable character written as `\uXXXX`, except line feeds between values. A parser
  /// reads the same values from both texts. The text must come from an encoder that escapes what RFC 8259 demands
  /// (U+0000 to U+001F).
  package var withPrintableJSON: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable && $0 != "\n" }) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isPrintable || scalar == "\n" {
        text.unicodeScalars.append(scalar)
      } else {
        text += scalar.jsonEscape
      }
    }
  }
}

extension Unicode.Scalar {
  /// False for a character that acts on a terminal, breaks a line, is invisible, or changes the order or the look of
  /// other text. These are the controls of ASCII and Latin-1 (C0, DEL, C1), line and paragraph separators, marks and
  /// embeddings of the bidirectional algorithm (Unicode Standard Annex 9), interlinear annotations, and tags. The
  /// joiners U+200C and U+200D count as printable, because words of several scripts and many emoji need them.
  package var isPrintable: Bool {
    switch value {
    case 0x20...0x7E: true
    case 0...0x1F, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
      0xFFF9...0xFFFB, 0x1D173...0x1D17A, 0xE0000...0xE007F:
      false
    default: true
    }
  }

  /// The escape sequence of the character in JSON, such as `\u001b`. A character beyond U+FFFF becomes a surrogate
  /// pair.
  package var jsonEscape: String {
    String(self).utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }
}

extension String {
  /// The longest beginning of the text that has at most `limit` bytes of UTF-8 and ends between two Unicode scalars.
  package func cut(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, limit))
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }

  /// Whether both texts have the same bytes, as databases compare texts. `==` also takes texts for equal that Unicode
  /// calls canonically equivalent, such as "é" and "e\u{301}".
  package func hasBytes(of other: String) -> Bool { self == other && utf8.elementsEqual(other.utf8) }

  /// The text with U+FFFD in the place of each U+0000, which PostgreSQL does not store in a text.
  package var withoutNUL: String {
    guard utf8.contains(0) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
  }

  /// The first 255 bytes of the text, escaped as in `escaped`.
  package var escapedOnOneLine: String { cut(toBytes: 255).escaped }

  /// The text on one line: each character that is not printable is written as `\n`, `\r`, `\t` or `\u{1B}`. The length
  /// is not limited.
  package var escaped: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        if scalar.isPrintable {
          text.unicodeScalars.append(scalar)
        } else {
          text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
      }
    }
    return text
  }
}

/// The number with its noun: `1 file`, `2 files`, `2 batches`.
/// - Parameter plural: the plural of the noun, if it is not the noun with an "s".
package func counted(_ count: Int, _ noun: String, plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}
