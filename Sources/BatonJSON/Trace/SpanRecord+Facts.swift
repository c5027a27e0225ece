package import BatonModel
package import BatonTelemetry

/// What `baton trace` reads from the spans of the coordinator.
extension SpanRecord {
  /// Which of Baton's spans it is; `nil` for a span of another program.
  package var role: Names.Span? { Names.Span(rawValue: String(name.prefix { $0 != " " })) }

  package var duration: Duration { max(.zero, end - start) }

  package func text(_ key: String) -> String? {
    guard case .string(let text) = attributes[key] else { return nil }
    return text
  }

  package func number(_ key: String) -> Int? {
    guard case .int(let number) = attributes[key] else { return nil }
    return Int(exactly: number)
  }

  package func truth(_ key: String) -> Bool? {
    guard case .bool(let isTrue) = attributes[key] else { return nil }
    return isTrue
  }

  /// How a launch ended; nil while it runs.
  package var outcome: LaunchOutcome.Kind? { text(Names.Attribute.launchOutcome).flatMap(LaunchOutcome.Kind.init) }

  /// The message of the span's error; `nil` if the span has no error.
  package var error: String? { if case .error(let message) = status { message } else { nil } }
}

extension [Attribute] {
  package subscript(key: String) -> AttributeValue? { first { $0.key == key }?.value }
}

extension RequestTrace {
  package func isOpen(_ span: SpanRecord) -> Bool { open.contains(span.id) }

  package func spans(_ role: Names.Span) -> [SpanRecord] { spans.filter { $0.role == role } }

  /// The name of the request according to its spans. What they do not say is taken from the arguments; a missing number
  /// becomes 1.
  package func name(orElse asked: JobIdentifier, number: Int?) -> RequestName {
    let found = spans.lazy.compactMap { $0.text(Names.Attribute.identifier) }.first.flatMap { JobIdentifier($0) }
    let numbers = spans.lazy.compactMap { $0.number(Names.Attribute.request) }
    return RequestName(identifier: found ?? asked, number: numbers.first ?? number ?? 1)
  }
}

extension AttributeValue {
  /// The value as text for people.
  package var words: String {
    switch self {
    case .string(let text): text
    case .bool(let isTrue): isTrue ? "yes" : "no"
    case .int(let number): String(number)
    case .double(let number): String(number)
    case .strings(let texts): texts.joined(separator: ", ")
    case .bools(let truths): truths.map { $0 ? "yes" : "no" }.joined(separator: ", ")
    case .ints(let numbers): numbers.map(String.init).joined(separator: ", ")
    case .doubles(let numbers): numbers.map { String($0) }.joined(separator: ", ")
    }
  }
}
