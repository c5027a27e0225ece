import Synchronization

/// Why settings cannot be used: everything that is wrong with them, each problem with its place.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
  /// The problems, one line each, such as `worker.yaml:3:10: error: 'idle.after': …`.
  package let problems: [String]

  package init(_ problems: [String]) { self.problems = problems }
  package init(_ message: String) { self.init([message]) }

  /// The problem if there is only one. Else a line with the number of problems, followed by one line for each.
  package var message: String {
    problems.count == 1 ? problems[0] : (["\(problems.count) settings are wrong:"] + problems).joined(separator: "\n  ")
  }

  package var description: String { message }
}

/// One wrong setting.
struct SettingsProblem: Hashable, Sendable {
  var place: String
  /// The line in the file, from 1; 0 if the setting is not in the file.
  var line = 0
  var column = 0
  var message: String

  /// A place in a file is marked as an error, as compilers do, so that editors find it.
  var text: String { line > 0 ? "\(place): error: \(message)" : "\(place): \(message)" }
}

/// Collects the wrong settings while they are read.
final class SettingsReport: Sendable {
  private let problems = Mutex<[SettingsProblem]>([])

  /// Adds a problem, unless an equal problem has been added: a key may be read twice.
  func add(_ problem: SettingsProblem) {
    problems.withLock { if !$0.contains(problem) { $0.append(problem) } }
  }

  /// The collected problems as an error: first those outside of the file, then those in the file in its order. `nil` if
  /// nothing is wrong.
  var error: SettingsError? {
    let sorted = problems.withLock { problems in
      problems.enumerated().sorted { one, other in
        (one.element.line, one.element.column, one.offset) < (other.element.line, other.element.column, other.offset)
      }
    }
    return sorted.isEmpty ? nil : SettingsError(sorted.map(\.element.text))
  }
}
