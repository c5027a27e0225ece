/// The name of another job in a definition: in `onSuccess`, `onFailure` and `after`. It is an identifier. In the
/// definition of a wildcard it may end with `.${wildcard}`, which stands for the part of a request's identifier that
/// the `*` matches.
package struct JobReference: Hashable, Sendable, Codable, CustomStringConvertible {
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

  /// Whether the text has a place for a part of the request's identifier.
  package var hasWildcard: Bool { text.hasSuffix(Self.placeholder) }

  /// The identifiers that can be meant.
  package var pattern: IdentifierPattern {
    IdentifierPattern(trusted: hasWildcard ? text.dropLast(Self.placeholder.count) + ".*" : text)
  }

  /// The identifier of the other job; `nil` if it would be longer than an identifier may be.
  /// - Parameters:
  ///   - request: the identifier of the request in whose definition the name is.
  ///   - pattern: the pattern of that definition.
  package func identifier(for request: JobIdentifier, of pattern: IdentifierPattern) -> JobIdentifier? {
    guard hasWildcard else { return JobIdentifier(text) }
    guard let part = pattern.wildcardValue(in: request) else { return nil }
    return JobIdentifier(text.dropLast(Self.placeholder.count) + "." + part)
  }

  /// How many requests may follow each other by `onSuccess` and `onFailure`. It ends a circle of jobs that name each
  /// other.
  package static let longestRow = 16
}

/// What the end of a request submits (`onSuccess`, `onFailure`): one job, or several jobs as a flow.
package struct FollowUp: Hashable, Sendable, Codable {
  /// Without one twice. Several are the members of one flow, each of which waits for those that its `after` names.
  package let jobs: [JobReference]

  package init(_ jobs: [JobReference]) { self.jobs = jobs }

  /// The result is `nil` if one of the texts is no job.
  package init?(_ texts: String...) {
    let jobs = texts.compactMap { JobReference($0) }
    guard jobs.count == texts.count else { return nil }
    self.init(jobs)
  }

  /// One job is text, as in all versions; several are a list.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let one = try? container.decode(JobReference.self) {
      self.init([one])
    } else {
      self.init(try container.decode([JobReference].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if jobs.count == 1 { try container.encode(jobs[0]) } else { try container.encode(jobs) }
  }
}

extension Definition {
  /// The keys of follow-ups with their values, those that are set.
  package var followUps: [(key: String, next: FollowUp)] {
    [("onSuccess", onSuccess), ("onFailure", onFailure)].compactMap { key, next in next.map { (key, $0) } }
  }

  /// The identifiers that requests of this definition can submit, each with the key that names it. Who applies the
  /// definition needs the right to submit all of them.
  package var submitted: [(key: String, pattern: IdentifierPattern)] {
    (maySubmit ?? []).map { ("maySubmit", $0) }
      + followUps.flatMap { key, next in next.jobs.map { (key, $0.pattern) } }
  }
}
