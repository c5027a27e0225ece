package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Key `facts` of worker.yaml.
package struct FactsSettings: Hashable, Sendable {
  /// The program and its arguments, run without a shell.
  package var command: [String]
  /// How often, 1 s or more.
  package var every: Duration

  package init(command: [String], every: Duration = .seconds(30)) {
    self.command = command
    self.every = every
  }
}

/// A probe of the operator's own: a command that prints one JSON object, whose members become labels that jobs can
/// require. Its words come on top of the labels that are written down.
///
/// A command that fails once changes nothing; from the second time on its facts are gone, and what requires them expires.
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

  /// Runs the command once; it may take as long as the time between two runs, at most 10 s.
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
        return .failure(WorkerMistake("it printed no JSON object of plain values"))
      }
    }
  }

  /// Strings, numbers and booleans; numbers without a fraction where they have none.
  static func facts(inJSON text: String) throws -> [String: String] {
    let facts = try JSONDecoder().decode([String: Fact].self, from: Data(text.utf8))
    guard facts.count <= Label.maximumCount else {
      throw WorkerMistake("it printed \(facts.count) facts; at most \(Label.maximumCount) are taken")
    }
    for (name, fact) in facts {
      guard Label.isName(name) else { throw WorkerMistake("'\(name.prefix(80))' cannot be the name of a label") }
      guard Label.isValue(fact.text) else { throw WorkerMistake("'\(name)' is not one line of at most 255 bytes") }
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

/// What is wrong with what a command printed.
struct WorkerMistake: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
