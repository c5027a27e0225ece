internal import BatonModel

/// Reads environment variables as typed values, and collects a warning for each value that it cannot read. Such a
/// variable is replaced by the default value that the caller passes, so that a wrong variable never stops a daemon.
struct EnvironmentReader {
  let environment: [String: String]
  private(set) var warnings: [SettingsWarning] = []

  init(_ environment: [String: String]) { self.environment = environment }

  /// The trimmed value of a variable; `nil` if the variable is unset, empty or only spaces.
  func text(_ name: String) -> String? { environment[name]?.trimmed.nonEmpty }

  /// Adds a warning, unless an equal one has been added already: both signals read the general variables.
  mutating func warn(_ name: String, _ message: String) {
    let warning = SettingsWarning(name, message)
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// Reads a boolean variable: true for `true` in any case, false for everything else.
  mutating func flag(_ name: String) -> Bool {
    guard let text = text(name)?.lowercased() else { return false }
    if text != "true", text != "false" { warn(name, "\(quote(text)) is neither true nor false; false is used") }
    return text == "true"
  }

  /// Reads a whole number from `minimum` to `Int32.max`.
  mutating func number(_ name: String, atLeast minimum: Int = 0, otherwise fallback: Int) -> Int {
    guard let text = text(name) else { return fallback }
    if let value = Int32(text), value >= minimum { return Int(value) }
    warn(name, "\(quote(text)) is not a whole number from \(minimum) to \(Int32.max); \(fallback) is used")
    return fallback
  }

  /// Reads a duration that is written as a whole number of milliseconds.
  mutating func duration(_ name: String, otherwise fallback: Duration) -> Duration {
    .milliseconds(number(name, otherwise: Int(fallback.nanoseconds / 1_000_000)))
  }

  /// Reads a timeout that is written as a whole number of milliseconds. A value of 0 means "no limit" and becomes the
  /// longest timeout, `Int32.max` milliseconds (24 days).
  mutating func timeout(_ name: String, otherwise fallback: Duration) -> Duration {
    let value = duration(name, otherwise: fallback)
    return value == .zero ? .milliseconds(Int32.max) : value
  }

  /// Reads one of the raw values of `Choice`.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, otherwise fallback: Choice
  ) -> Choice {
    guard let text = text(name) else { return fallback }
    if let choice = Choice(rawValue: text) { return choice }
    let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    warn(name, "\(quote(text)) is not one of \(known); \(fallback.rawValue) is used")
    return fallback
  }

  /// `text` in backticks and cut to 100 characters, for a warning.
  func quote(_ text: some StringProtocol) -> String { "`\(text.prefix(100))`" }
}

extension String {
  var nonEmpty: String? { isEmpty ? nil : self }
}
