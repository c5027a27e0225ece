internal import BatonModel

/// Reads variables one by one, and notes what could not be read.
struct EnvironmentReader {
  let environment: [String: String]
  private(set) var warnings: [SettingsWarning] = []

  init(_ environment: [String: String]) { self.environment = environment }

  /// Nil if it is unset, empty or only spaces.
  func text(_ name: String) -> String? { environment[name]?.trimmed.nonEmpty }

  /// Says it once, though two signals read the same variable.
  mutating func warn(_ name: String, _ message: String) {
    let warning = SettingsWarning(name, message)
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// True for `true` in any case, and for nothing else.
  mutating func flag(_ name: String) -> Bool {
    guard let text = text(name)?.lowercased() else { return false }
    if text != "true", text != "false" { warn(name, "\(quote(text)) is neither true nor false; false is used") }
    return text == "true"
  }

  /// A whole number of the range, up to what 32 bits hold.
  mutating func number(_ name: String, atLeast minimum: Int = 0, otherwise fallback: Int) -> Int {
    guard let text = text(name) else { return fallback }
    if let value = Int32(text), value >= minimum { return Int(value) }
    warn(name, "\(quote(text)) is not a whole number from \(minimum) to \(Int32.max); \(fallback) is used")
    return fallback
  }

  /// A whole number of milliseconds.
  mutating func duration(_ name: String, otherwise fallback: Duration) -> Duration {
    .milliseconds(number(name, otherwise: Int(fallback.nanoseconds / 1_000_000)))
  }

  /// The same; 0 is no limit, and so the longest there is, 24 days.
  mutating func timeout(_ name: String, otherwise fallback: Duration) -> Duration {
    let value = duration(name, otherwise: fallback)
    return value == .zero ? .milliseconds(Int32.max) : value
  }

  /// One of the names that the cases have.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, otherwise fallback: Choice
  ) -> Choice {
    guard let text = text(name) else { return fallback }
    if let choice = Choice(rawValue: text) { return choice }
    let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    warn(name, "\(quote(text)) is not one of \(known); \(fallback.rawValue) is used")
    return fallback
  }

  /// What a person wrote, short enough for a log line.
  func quote(_ text: some StringProtocol) -> String { "`\(text.prefix(100))`" }
}

extension String {
  var nonEmpty: String? { isEmpty ? nil : self }
}
