import ArgumentParser
import BatonModel
import BatonSpec

/// Times on the command line. They are read by the decoder of `earliestBeginDate`, so that both places take the same
/// words and say the same of bad ones.
struct TimeArgument: Hashable, Sendable {
  var value: EarliestBeginDate
  /// What is doubtful about it, such as a date over a week off.
  var warning: String?

  private static let key = "earliestBeginDate"

  init(_ text: String, now: Timestamp) throws {
    guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) else { throw ValidationError("It must be on one line.") }
    let quoted = text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    let yaml = "identifier: time\nkind: processing\n\(Self.key): '\(quoted)'\n"
    let specification = Specification(
      parsing: Source(name: "time", text: yaml), options: SpecificationOptions(now: now))
    if let error = specification.errors.first { throw ValidationError(Self.sentence(error)) }
    guard let value = specification.definitions.first?.definition.earliestBeginDate else {
      throw ValidationError("It must be a duration such as 15m, or an RFC 3339 date.")
    }
    self.value = value
    warning = specification.warnings.first.map(Self.sentence)
  }

  /// The message about the key, as one about the option.
  private static func sentence(_ problem: Problem) -> String {
    let quotedKey = "'\(key)'"
    return problem.message.hasPrefix(quotedKey) ? "it" + problem.message.dropFirst(quotedKey.count) : problem.message
  }

  /// For `transform:` of `--earliest`.
  static func earliest(_ text: String) throws -> TimeArgument {
    try TimeArgument(text, now: CommandEnvironment.current.now())
  }

  /// For `transform:` of durations.
  static func duration(_ text: String) throws -> Duration {
    guard case .afterSubmission(let duration) = try earliest(text).value else {
      throw ValidationError("It must be a duration such as 500ms, 30s, 10m, 24h or 7d.")
    }
    return duration
  }
}
