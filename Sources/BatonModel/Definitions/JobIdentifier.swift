/// The name of a job, such as `com.example.photos.export.42`: case-sensitive, at most 255 bytes of UTF-8.
///
/// At most one request per identifier is live and at most one waits (contract, row 7).
public struct JobIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let rawValue: String

  /// Longest identifier that the store accepts, in bytes of UTF-8.
  public static let maximumBytes = 255

  /// Nil unless `rawValue` is one or more dot-separated parts of letters, digits, `-` and `_`.
  public init?(_ rawValue: String) {
    guard rawValue.utf8.count <= Self.maximumBytes, Self.isWellFormed(rawValue) else { return nil }
    self.rawValue = rawValue
  }

  /// For text that was checked before, such as a row of the store.
  package init(trusted rawValue: String) { self.rawValue = rawValue }

  public var description: String { rawValue }

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

/// What a definition is declared for: one identifier, or every identifier below a prefix (`com.example.export.*`).
public struct IdentifierPattern: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let rawValue: String

  /// Nil unless `rawValue` is an identifier, or an identifier followed by `.*`.
  public init?(_ rawValue: String) {
    let literal = rawValue.hasSuffix(".*") ? String(rawValue.dropLast(2)) : rawValue
    guard JobIdentifier(literal) != nil, rawValue.utf8.count <= JobIdentifier.maximumBytes else { return nil }
    self.rawValue = rawValue
  }

  /// For text that was checked before, such as a row of the store.
  package init(trusted rawValue: String) { self.rawValue = rawValue }

  public init(_ identifier: JobIdentifier) { rawValue = identifier.rawValue }

  public var isWildcard: Bool { rawValue.utf8.last == UInt8(ascii: "*") }

  /// The identifier, if this pattern names exactly one.
  public var literal: JobIdentifier? { isWildcard ? nil : JobIdentifier(trusted: rawValue) }

  public func matches(_ identifier: JobIdentifier) -> Bool {
    isWildcard ? wildcardValue(in: identifier) != nil : rawValue == identifier.rawValue
  }

  /// What the `*` stands for in `identifier`; nil for a literal pattern or an identifier it does not match.
  public func wildcardValue(in identifier: JobIdentifier) -> String? {
    guard isWildcard, isBeginning(of: identifier.rawValue) else { return nil }
    return String(identifier.rawValue.utf8.dropFirst(rawValue.utf8.count - 1))
  }

  /// True if every identifier that `other` matches is matched by this pattern too.
  public func covers(_ other: IdentifierPattern) -> Bool {
    if rawValue == other.rawValue { return true }
    return isWildcard && isBeginning(of: other.rawValue)
  }

  /// True if `text` goes on after what stands before the `*`: byte by byte, identifiers have nothing but ASCII.
  private func isBeginning(of text: String) -> Bool {
    let prefix = rawValue.utf8.dropLast()
    return text.utf8.count > prefix.count && text.utf8.starts(with: prefix)
  }

  /// Two different wildcards overlap if one covers the other; a literal under a wildcard is no overlap, it wins.
  public func overlaps(_ other: IdentifierPattern) -> Bool {
    isWildcard && other.isWildcard && rawValue != other.rawValue && (covers(other) || other.covers(self))
  }

  public var description: String { rawValue }

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
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
