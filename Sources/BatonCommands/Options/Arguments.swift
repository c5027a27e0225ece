import ArgumentParser
import BatonModel
import BatonStore

/// Turns texts of the command line into values, for `transform:` of an argument. Each function throws a
/// `ValidationError` that says what is wrong with the text.
enum Arguments {
  static func identifier(_ text: String) throws -> JobIdentifier {
    if let identifier = JobIdentifier(text) { return identifier }
    if text.hasSuffix("*") { throw ValidationError("It is a pattern: name one identifier that it matches.") }
    throw ValidationError("An identifier is \(identifierShape).")
  }

  static func pattern(_ text: String) throws -> IdentifierPattern {
    if let pattern = IdentifierPattern(text) { return pattern }
    throw ValidationError("A pattern is \(identifierShape); it may end in '.*'.")
  }

  private static let identifierShape =
    "parts of letters, digits, '-' and '_' with dots between, such as com.example.report"

  static func positive(_ text: String) throws -> Int {
    if let number = Int(text), number > 0 { return number }
    throw ValidationError("It must be a whole number from 1.")
  }

  /// A number from 0.
  static func index(_ text: String) throws -> Int {
    if let number = Int(text), number >= 0 { return number }
    throw ValidationError("It must be a whole number from 0.")
  }

  static func priority(_ text: String) throws -> Priority {
    if let priority = Priority(name: text) { return priority }
    throw ValidationError("It must be one of \(Priority.allCases.map(\.name).joined(separator: ", ")).")
  }

  /// The states that the text names: one state, or a group such as `pending`.
  static func states(_ text: String) throws -> Set<RequestState> {
    if let state = RequestState(rawValue: text) { return [state] }
    switch text {
    case "pending": return Set(RequestState.allCases.filter(\.isPending))
    case "unfinished": return Set(RequestState.allCases.filter { !$0.isEnded })
    case "ended": return Set(RequestState.allCases.filter(\.isEnded))
    default: throw ValidationError("It must be one of \(stateNames.joined(separator: ", ")).")
    }
  }

  static func kind(_ text: String) throws -> JobKind {
    guard let kind = JobKind(rawValue: text) else {
      throw ValidationError("It must be one of \(JobKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return kind
  }

  static let stateNames = RequestState.allCases.map(\.rawValue) + ["pending", "unfinished", "ended"]
}
