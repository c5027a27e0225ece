package import BatonCoordinator
package import BatonModel
package import BatonSpec
package import BatonStore

/// What the application of definitions would change.
package struct Plan {
  package struct Step {
    package var definition: Definition
    /// What is applied now; `nil` if nothing is.
    package var present: DefinitionReport?
    /// The waiting requests that keep an earlier definition than the one that is applied now.
    package var keeping = EarlierText()

    package var changes: [DefinitionChange] {
      guard let present, present.problem == nil else { return [] }
      return DefinitionChange.between(DefinitionValue(present.definition), DefinitionValue(definition))
    }

    package var change: AppliedDefinition.Change {
      guard let present else { return .created }
      return present.problem == nil && present.definition == definition ? .unchanged : .updated
    }
  }

  package var steps: [Step]
  /// The definitions that would be removed.
  package var removals: [DefinitionReport] = []
  /// How many hosts could take a request of each step now; `nil` if they are not counted.
  package var able: AbleHosts?

  package var isEmpty: Bool { steps.allSatisfy { $0.change == .unchanged } && removals.isEmpty }

  /// - Parameter pruning: definitions below these patterns are removed if they are not among `definitions`.
  package init(_ definitions: [Definition], pruning: [IdentifierPattern] = [], present: [DefinitionReport]) {
    let kept = Set(definitions.map(\.pattern))
    removals = present.filter { report in
      !kept.contains(report.definition.pattern) && pruning.contains { $0.covers(report.definition.pattern) }
    }
    let byPattern = Dictionary(present.map { ($0.definition.pattern, $0) }, uniquingKeysWith: { first, _ in first })
    steps = definitions.map { Step(definition: $0, present: byPattern[$0.pattern]) }
  }

  /// Looks for the waiting requests that keep earlier definitions.
  package mutating func findKeeping(_ api: any OperatorAPI) async throws {
    for index in steps.indices { try await steps[index].findKeeping(api) }
  }

  /// The plan of a fleet, as far as the caller sees it.
  package init(_ definitions: [Definition], pruning: [IdentifierPattern] = [], asking api: any OperatorAPI) async throws
  {
    self.init(definitions, pruning: pruning, present: try await api.definitions(named: []))
    try await findKeeping(api)
    if definitions.count <= AbleHosts.mostDefinitions { able = try await api.ableHosts(for: definitions) }
  }

  package func count(of step: Int) -> AbleHosts.Count? {
    guard let able, able.counts.indices.contains(step) else { return nil }
    return able.counts[step]
  }

  /// One object for each definition, and one for each that would be removed.
  package var json: [JSONValue] {
    steps.enumerated().map { JSONValue($0.element, able: count(of: $0.offset)) }
      + removals.map { JSONValue(removal: $0) }
  }
}

extension Plan.Step {
  /// How many requests wait and would keep the definition that is applied now.
  package var waiting: Int { change == .updated ? present?.waiting ?? 0 : 0 }

  /// Looks for the requests that keep an earlier definition than the one that is applied.
  fileprivate mutating func findKeeping(_ api: any OperatorAPI) async throws {
    guard change != .created, let present, present.waiting > 0 else { return }
    var isApplied: [DefinitionID: Bool] = [:]
    var versions: Set<Int> = []
    keeping = try await EarlierText.find(definition.pattern, api) { record in
      if let known = isApplied[record.definition] { return !known }
      let found = try await api.definition(of: record.identifier, number: record.number).isApplied
      isApplied[record.definition] = found
      if !found, let version = try await api.details(record.identifier, number: record.number).version {
        versions.insert(version.number)
      }
      return !found
    }
    keeping.versions = versions.sorted()
  }
}

extension JSONValue {
  package init(_ change: DefinitionChange) {
    self = [
      "key": JSONValue(change.key), "before": change.before.map { JSONValue($0) } ?? .null,
      "after": change.after.map { JSONValue($0) } ?? .null,
    ]
  }

  package init(removal report: DefinitionReport) {
    self = [
      "identifier": JSONValue(report.definition.pattern.rawValue), "change": "removed", "keys": .array([]),
      "waiting": JSONValue(report.waiting), "waitingWithEarlierDefinition": JSONValue(0), "hostsNow": .null,
      "hostsEver": .null,
    ]
  }

  package init(_ step: Plan.Step, able: AbleHosts.Count?) {
    self = [
      "identifier": JSONValue(step.definition.pattern.rawValue), "change": JSONValue(step.change.rawValue),
      "keys": .array(step.changes.map { JSONValue($0) }), "waiting": JSONValue(step.waiting),
      "waitingWithEarlierDefinition": JSONValue(step.keeping.count), "hostsNow": JSONValue(able?.now),
      "hostsEver": JSONValue(able?.ever),
    ]
  }
}
