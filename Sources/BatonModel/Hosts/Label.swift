/// A fact about a host in the owner's own words, such as `zone: garage`: jobs may require it. The bounds are Baton's own;
/// they keep what every host says of itself small.
package enum Label {
  package static let maximumNameBytes = 63
  package static let maximumValueBytes = 255
  package static let maximumCount = 64

  /// Letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= maximumNameBytes, isAlphanumeric(first) else { return false }
    return text.utf8.allSatisfy { isAlphanumeric($0) || "-_.".utf8.contains($0) }
  }

  /// One line without control characters.
  package static func isValue(_ text: String) -> Bool {
    text.utf8.count <= maximumValueBytes && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
