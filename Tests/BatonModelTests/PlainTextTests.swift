import BatonModel
import Testing

/// Text from users, files and devices is made safe before it is printed.
@Suite struct PlainTextTests {
  @Test func `text without controls stays as it is`() {
    let text = "com.example.report: naïve 漢字 👩‍👩‍👧 می‌خواهم – 12 °C"
    #expect(text.onOneLine == text)
    #expect(text.onItsLines == text)
    #expect(text.withPrintableJSON == text)
  }

  @Test func `breaks and tabs become spaces, other controls their codes`() {
    #expect("a\nb\r\nc\td".onOneLine == "a b  c d")
    #expect("\u{1B}]0;owned\u{7}".onOneLine == "\\u{1b}]0;owned\\u{7}")
    #expect("\u{9B}31m\u{7F}\u{0}".onOneLine == "\\u{9b}31m\\u{7f}\\u{0}")
    #expect("a\n\u{1B}b\rc".onItsLines == "a\n\\u{1b}b c")
  }

  /// Ranges of the Unicode Character Database: Cc, Zl, Zp, and those of Cf that are invisible or reorder text.
  @Test(
    arguments: [
      0x00...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B, 0x200E...0x200F,
      0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0x1D173...0x1D17A, 0xE0001...0xE007F,
    ] as [ClosedRange<UInt32>])
  func `no character that acts on a terminal or on other text is printable`(range: ClosedRange<UInt32>) throws {
    for value in range {
      let scalar = try #require(Unicode.Scalar(value))
      #expect(!scalar.isPrintable, "U+\(String(value, radix: 16))")
      #expect(String(scalar).onOneLine.unicodeScalars.allSatisfy { $0.isPrintable })
      #expect(String(scalar).withPrintableJSON.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" })
    }
    for neighbour in [range.lowerBound &- 1, range.upperBound + 1].compactMap({ Unicode.Scalar($0) }) {
      let isFormat = [.control, .format, .lineSeparator].contains(neighbour.properties.generalCategory)
      #expect(neighbour.isPrintable || isFormat || neighbour.value >= 0xE0000)
    }
  }

  @Test func `no control and no separator of Unicode is printable`() {
    for value in UInt32(0)...0xFFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: #expect(!scalar.isPrintable, "U+\(String(value, radix: 16))")
      default: break
      }
    }
  }

  @Test func `JSON has codes in the place of what is not printable`() {
    #expect(
      "{\n  \"a\": \"\u{9B}\u{202E}\u{E0041}\"\n}".withPrintableJSON == #"{\#n  "a": "\u009b\u202e\udb40\udc41"\#n}"#)
  }
}
