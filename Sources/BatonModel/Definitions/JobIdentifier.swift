/// The name of a job, such as `com.example.photos.export.42` (Apple: task identifier).
///
/// An identifier has one or more parts of ASCII letters, digits, `-` and `_`, with a dot between two parts. It is
/// case-sensitive, and has at most `maximumBytes` bytes.
///
/// At most one request of an identifier is live at a time, and at most one waits (contract, row 7).
public struct JobIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The text of the identifier.
  public let rawValue: String

  /// The longest identifier that is accepted, in bytes of UTF-8.
  public static let maximumBytes = 255

  /// Checks `rawValue` and makes it an identifier. The result is `nil` if the text is not well formed or is too long.
  public init?(_ rawValue: String) {
    guard rawValue.utf8.count <= Self.maximumBytes, Self.isWellFormed(rawValue) else { return nil }
    self.rawValue = rawValue
  }

  /// Makes an identifier of text that was checked before, such as a column of the store. The text is not checked again.
  package init(trusted rawValue: String) { self.rawValue = rawValue }

  /// The text.
  public var description: String { rawValue }

  /// Compares the texts.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  private static func isWellFormed(_ text: String) -> Bool {
    var last = UInt8(ascii: ".")
    for byte in text.utf8 {
      guard isIdentifierByte(byte) || byte == UInt8(ascii: ".") && last != byte else { return false }
      last = byte
    }
    return last != UInt8(ascii: ".")
  }

  private static func isIdentifierByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// The identifiers that a definition or a handler is declared for: one identifier (a literal pattern), or every
/// identifier below a prefix (a wildcard, such as `com.example.export.*`).
///
/// The `*` of a wildcard matches one or more characters, dots included: `com.example.*` matches `com.example.a.b`, and
/// does not match `com.example`.
public struct IdentifierPattern: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The text of the pattern.
  public let rawValue: String

  /// Checks `rawValue` and makes it a pattern. The result is `nil` unless the text is an identifier, or an identifier
  /// followed by `.*`, of at most `JobIdentifier.maximumBytes` bytes.
  public init?(_ rawValue: String) {
    let literal = rawValue.hasSuffix(".*") ? String(rawValue.dropLast(2)) : rawValue
    guard JobIdentifier(literal) != nil, rawValue.utf8.count <= JobIdentifier.maximumBytes else { return nil }
    self.rawValue = rawValue
  }

  /// Makes a pattern of text that was checked before, such as a column of the store. The text is not checked again.
  package init(trusted rawValue: String) { self.rawValue = rawValue }

  /// A literal pattern, which matches `identifier` only.
  public init(_ identifier: JobIdentifier) { rawValue = identifier.rawValue }

  /// Whether the pattern ends in `*`.
  public var isWildcard: Bool { rawValue.utf8.last == UInt8(ascii: "*") }

  /// The identifier that a literal pattern matches; `nil` for a wildcard.
  public var literal: JobIdentifier? { isWildcard ? nil : JobIdentifier(trusted: rawValue) }

  /// Whether the pattern matches `identifier`.
  public func matches(_ identifier: JobIdentifier) -> Bool {
    isWildcard ? wildcardValue(in: identifier) != nil : rawValue == identifier.rawValue
  }

  /// The part of `identifier` that the `*` matches; `nil` for a literal pattern, and for an identifier that the pattern
  /// does not match.
  public func wildcardValue(in identifier: JobIdentifier) -> String? {
    guard isWildcard, isBeginning(of: identifier.rawValue) else { return nil }
    return String(identifier.rawValue.utf8.dropFirst(rawValue.utf8.count - 1))
  }

  /// Whether this pattern matches every identifier that `other` matches.
  public func covers(_ other: IdentifierPattern) -> Bool {
    if rawValue == other.rawValue { return true }
    return isWildcard && isBeginning(of: other.rawValue)
  }

  /// Whether `text` has the prefix of this wildcard and at least one character after it. Bytes are compared, because
  /// identifiers are ASCII.
  private func isBeginning(of text: String) -> Bool {
    let prefix = rawValue.utf8.dropLast()
    return text.utf8.count > prefix.count && text.utf8.starts(with: prefix)
  }

  /// Whether both are wildcards, are different, and match a common identifier: then one of them covers the other. A
  /// literal pattern overlaps with nothing: where it and a wildcard match the same identifier, the literal pattern
  /// takes precedence.
  public func overlaps(_ other: IdentifierPattern) -> Bool {
    isWildcard && other.isWildcard && rawValue != other.rawValue && (covers(other) || other.covers(self))
  }

  /// The text.
  public var description: String { rawValue }

  /// Compares the texts.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension JobIdentifier: Codable {
  /// - Throws: `DecodingError` if the text is not an identifier.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let identifier = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "an identifier is made of letters, digits, '-' and '_' with dots between")
    }
    self = identifier
  }
  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension IdentifierPattern: Codable {
  /// - Throws: `DecodingError` if the text is neither an identifier nor one followed by `.*`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let pattern = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "an identifier is made of letters, digits, '-' and '_' with dots between")
    }
    self = pattern
  }
  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
