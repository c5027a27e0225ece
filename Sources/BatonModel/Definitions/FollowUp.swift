/// The job that is submitted when a request has ended: `onSuccess` or `onFailure` of its definition. It is an
/// identifier. In the definition of a wildcard it may end with `.${wildcard}`, which stands for the part of the ended
/// request's identifier that the `*` matches.
package struct FollowUp: Hashable, Sendable, Codable, CustomStringConvertible {
  package let text: String

  private static let placeholder = ".${wildcard}"

  /// The result is `nil` if the text is no such identifier.
  package init?(_ text: String) {
    let literal = text.hasSuffix(Self.placeholder) ? String(text.dropLast(Self.placeholder.count)) : text
    guard JobIdentifier(literal) != nil else { return nil }
    self.text = text
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a job is an identifier, which may end with '.${wildcard}'")
    }
    self = value
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  package var description: String { text }

  /// Whether the text has a place for a part of the ended request's identifier.
  package var hasWildcard: Bool { text.hasSuffix(Self.placeholder) }

  /// What can be submitted.
  package var pattern: IdentifierPattern {
    IdentifierPattern(trusted: hasWildcard ? text.dropLast(Self.placeholder.count) + ".*" : text)
  }

  /// The identifier of the request that is submitted; `nil` if it would be longer than an identifier may be.
  /// - Parameter pattern: the pattern of the ended request's definition.
  package func identifier(after ended: JobIdentifier, of pattern: IdentifierPattern) -> JobIdentifier? {
    guard hasWildcard else { return JobIdentifier(text) }
    guard let part = pattern.wildcardValue(in: ended) else { return nil }
    return JobIdentifier(text.dropLast(Self.placeholder.count) + "." + part)
  }

  /// How many requests may follow each other in this way. It ends a circle of jobs that name each other.
  package static let longestRow = 16
}

extension Definition {
  /// The identifiers that requests of this definition can submit, each with the key that names it. Who applies the
  /// definition needs the right to submit all of them.
  package var submitted: [(key: String, pattern: IdentifierPattern)] {
    (maySubmit ?? []).map { ("maySubmit", $0) }
      + [("onSuccess", onSuccess), ("onFailure", onFailure)].compactMap { key, next in
        next.map { (key, $0.pattern) }
      }
  }
}
