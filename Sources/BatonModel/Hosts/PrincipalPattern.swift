/// The name of a principal, or a pattern of names such as `ci-*`, in which `*` stands for any characters.
public struct PrincipalPattern: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The text of the pattern.
  public let rawValue: String

  /// The longest pattern, in bytes; a principal is no longer.
  public static let maximumBytes = 255

  /// Checks `text` and makes it a pattern; `nil` if the pattern is empty, longer than a principal, or has control
  /// characters, which no principal has.
  public init?(_ text: String) {
    guard (1...Self.maximumBytes).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ !$0.properties.isWhitespace || $0 == " " }),
      text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { return nil }
    rawValue = text
  }

  /// The text of the pattern.
  public var description: String { rawValue }

  package func matches(_ principal: String) -> Bool {
    Glob.matches(Array(rawValue.unicodeScalars), Array(principal.unicodeScalars), anything: "*") { $0 == $1 }
  }
}
