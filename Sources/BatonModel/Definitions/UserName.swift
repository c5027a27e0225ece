/// Names of users of a host.
package enum UserName {
  package static let maximumBytes = 32
  package static let rule = "letters, digits, '.', '_' and '-', at most 32, of which the first is a letter or '_'"

  /// Whether the text can be the name of a user, by the rule of useradd(8) with capital letters and dots.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= maximumBytes, isLetter(first) || first == UInt8(ascii: "_")
    else { return false }
    return text.utf8.allSatisfy { byte in
      isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(byte)
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}
