import Synchronization

/// Why settings cannot be used: everything that is wrong with them, each with its place.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
  /// One line each, such as `worker.yaml:3:10: error: 'idle.after': …`.
  package let problems: [String]

  package init(_ problems: [String]) { self.problems = problems }
  package init(_ message: String) { self.init([message]) }

  /// The problem; of several, a line that counts them and then one line for each.
  package var message: String {
    problems.count == 1 ? problems[0] : (["\(problems.count) settings are wrong:"] + problems).joined(separator: "\n  ")
  }

  package var description: String { message }
}

/// One thing that is wrong with the settings.
struct SettingsProblem: Hashable, Sendable {
  var place: String
  /// In the file; 0 for what stands elsewhere.
  var line = 0
  var column = 0
  var message: String
}

/// What is wrong with settings, as far as they were read.
final class SettingsReport: Sendable {
  private let problems = Mutex<[SettingsProblem]>([])

  /// A problem that was added before is the same one: a key may be read twice.
  func add(_ problem: SettingsProblem) {
    problems.withLock { if !$0.contains(problem) { $0.append(problem) } }
  }

  /// In the order of the file, what stands elsewhere first; nil if nothing is wrong.
  var error: SettingsError? {
    let sorted = problems.withLock { problems in
      problems.enumerated().sorted { one, other in
        (one.element.line, one.element.column, one.offset) < (other.element.line, other.element.column, other.offset)
      }
    }
    return sorted.isEmpty ? nil : SettingsError(sorted.map { "\($0.element.place): error: \($0.element.message)" })
  }
}
