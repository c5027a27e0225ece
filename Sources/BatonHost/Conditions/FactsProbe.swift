package import BatonModel
package import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The operator's facts command: the keys `facts.command` and `facts.every` of worker.yaml.
public struct FactsSettings: Hashable, Sendable {
  /// The program and its arguments. It is run without a shell.
  public var command: [String]
  /// The time between two runs, at least 1 s; by default 30 s.
  public var every: Duration

  /// Runs `command` at the interval `every`.
  public init(command: [String], every: Duration = .seconds(30)) {
    self.command = command
    self.every = every
  }
}

/// The operator's own probe: a command that prints one JSON object, whose members become labels that jobs can require.
/// A fact replaces a label of worker.yaml that has the same name.
///
/// If the command fails once, its last facts stay. If it fails twice in a row, its facts are removed, and launches that
/// require them expire.
package struct FactsProbe: Sendable {
  private let settings: FactsSettings
  private let labels: [String: String]
  private let command: SystemCommand
  private var facts: [String: String] = [:]
  private var failures = 0

  package init(_ settings: FactsSettings, labels: [String: String], command: SystemCommand = .system) {
    self.settings = settings
    self.labels = labels
    self.command = command
  }

  /// Runs the command once. The command may take as long as `FactsSettings.every`, but at most 10 s.
  /// - Returns: all labels, with the facts merged in. The raw text has the number of facts, or the reason of a failure.
  package mutating func read() async -> Reading<[String: String]> {
    switch Self.facts(in: await command.run(settings.command, min(settings.every, .seconds(10)))) {
    case .success(let found):
      (facts, failures) = (found, 0)
      return reading(found.count == 1 ? "1 fact" : "\(found.count) facts")
    case .failure(let mistake):
      failures += 1
      if failures > 1 { facts = [:] }
      return reading(mistake.message)
    }
  }

  private func reading(_ raw: String) -> Reading<[String: String]> {
    Reading(labels.merging(facts) { $1 }, source: "facts", raw: raw)
  }

  private static func facts(in answer: SystemCommand.Answer) -> Result<[String: String], WorkerMistake> {
    switch answer {
    case .missing: return .failure(WorkerMistake("there is no such program"))
    case .failed(let why): return .failure(WorkerMistake(why))
    case .output(let text):
      do {
        return .success(try facts(inJSON: text))
      } catch let mistake as WorkerMistake {
        return .failure(mistake)
      } catch {
        return .failure(WorkerMistake("its output is not one JSON object with only strings, numbers and booleans"))
      }
    }
  }

  /// Decodes the facts in `text`: a JSON object whose values are strings, numbers and booleans. Whole numbers are
  /// written without a fraction. Throws `WorkerMistake` if there are too many facts or if a name or a value cannot be a
  /// label, and a `DecodingError` if `text` is not such an object.
  static func facts(inJSON text: String) throws -> [String: String] {
    let facts = try JSONDecoder().decode([String: Fact].self, from: Data(text.utf8))
    guard facts.count <= Label.maximumCount else {
      throw WorkerMistake("it printed \(facts.count) facts, but at most \(Label.maximumCount) are allowed")
    }
    for (name, fact) in facts {
      guard Label.isName(name) else { throw WorkerMistake("'\(name.prefix(80))' cannot be the name of a label") }
      guard Label.isValue(fact.text) else {
        throw WorkerMistake("the value of '\(name)' must be one line of at most 255 bytes")
      }
    }
    return facts.mapValues(\.text)
  }

  private struct Fact: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let flag = try? value.decode(Bool.self) {
        text = String(flag)
      } else if let number = try? value.decode(Int64.self) {
        text = String(number)
      } else if let number = try? value.decode(Double.self) {
        text = String(number)
      } else {
        text = try value.decode(String.self)
      }
    }
  }
}

/// An error in the output of the facts command, in words for the operator.
struct WorkerMistake: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
