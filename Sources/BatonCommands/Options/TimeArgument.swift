import ArgumentParser
import BatonModel
import BatonSpec
import BatonTelemetry

/// An earliest begin date on the command line, in the notation of definitions.
struct TimeArgument: Hashable, Sendable {
  var value: EarliestBeginDate
  /// What is doubtful about the date; `nil` if nothing is.
  var warning: String?

  init(_ text: String, now: Timestamp) throws {
    value = try Self.validated { try Values.earliestBeginDate(text) }
    let delay = value.resolved(submittedAt: now) - now
    if delay > .seconds(7 * 86_400) {
      warning = "the date is more than a week away; it is accepted, and the request does not start before it"
    }
    if delay < .zero { warning = "the date is in the past and delays nothing" }
  }

  /// Reads the value of `--earliest`; for `transform:`.
  static func earliest(_ text: String) throws -> TimeArgument {
    try TimeArgument(text, now: CommandEnvironment.current.now())
  }

  /// Reads a time of the past, as a duration up to now or as a date; for `transform:`.
  static func since(_ text: String) throws -> Timestamp {
    let now = CommandEnvironment.current.now()
    return switch try validated({ try Values.earliestBeginDate(text) }) {
    case .afterSubmission(let duration): now + (.zero - duration)
    case .at(let date): date
    }
  }

  /// Reads a duration; for `transform:`.
  static func duration(_ text: String) throws -> Duration { try validated { try Values.duration(text) } }

  private static func validated<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as ValueError {
      throw ValidationError("\(error)")
    }
  }
}
