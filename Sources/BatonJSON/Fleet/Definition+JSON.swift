package import BatonCoordinator
import BatonModel
package import BatonSpec
import BatonStore

extension JSONValue {
  /// A value of a job file, with the same keys and in the same notation.
  package init(_ value: DefinitionValue) {
    switch value {
    case .text(let text): self = .string(text)
    case .number(let number): self = .integer(number)
    case .flag(let flag): self = .bool(flag)
    case .list(let values): self = .array(values.map { JSONValue($0) })
    case .mapping(let entries): self = .object(entries.map { Member(key: $0.key, value: JSONValue($0.value)) })
    }
  }

  package init(_ report: DefinitionReport) {
    let definition = report.definition
    let states = RequestState.allCases.map { Member(key: $0.rawValue, value: JSONValue(report.counts[$0] ?? 0)) }
    self = [
      "identifier": JSONValue(definition.pattern.rawValue), "kind": JSONValue(definition.kind.rawValue),
      "appliedAt": JSONValue(report.appliedAt), "problem": JSONValue(report.problem),
      "requests": .object(states),
      "usualBatchMilliseconds": JSONValue(report.usualBatch.map { Int($0.nanoseconds / 1_000_000) }),
      "usedSeconds": JSONValue(report.used.map { Int($0.components.seconds) }),
      "paused": JSONValue(report.standing.pause), "backfill": JSONValue(report.standing.backfill),
      "definition": JSONValue(DefinitionValue(definition)),
    ]
  }
}
