/// The rules for labels. A label is a fact about a host in the owner's own words, such as `zone: garage`, which jobs
/// may require. Baton chose the bounds itself, to keep the report of every host small.
package enum Label {
  package static let maximumNameBytes = 63
  package static let maximumValueBytes = 255
  package static let maximumCount = 64

  /// True for 1 to 63 ASCII letters, digits, `-`, `_` and `.`, of which the first is a letter or a digit.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= maximumNameBytes, isAlphanumeric(first) else { return false }
    return text.utf8.allSatisfy { isAlphanumeric($0) || "-_.".utf8.contains($0) }
  }

  /// True for a text of at most 255 bytes on one line, without ASCII control characters.
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
