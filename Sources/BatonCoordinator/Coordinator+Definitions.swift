import BatonBase
package import BatonModel
import BatonSpec
package import BatonStore
import BatonTelemetry
import BatonWire
import Synchronization

/// The operators' calls about definitions.
extension Coordinator {
  /// Stores definitions, and the requests that applying them submits.
  /// - Throws: `OperatorError.invalid` if a definition breaks a rule of `Definition.validate()` or names a time zone
  ///   that this machine does not know, and `.notPermitted` if the configuration does not permit its pattern. In both
  ///   cases no definition is stored.
  package func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition] {
    for definition in definitions {
      do throws(DefinitionProblem) {
        try definition.validate()
        guard let size = try? definition.json().count, size <= Definition.Limits.bytes else { throw .tooLarge }
      } catch {
        throw OperatorError.invalid("the definition of '\(definition.pattern)' is not taken: \(error)")
      }
    }
    for definition in definitions {
      guard let zone = definition.schedule?.timeZone, ZoneOffsets.named(zone) == nil else { continue }
      throw OperatorError.invalid(
        "the definition of '\(definition.pattern)' is not taken: 'schedule.timeZone' is '\(zone)', which the "
          + "coordinator's machine does not know; write a time zone such as Europe/Berlin")
    }
    for definition in definitions { try checkReceivers(of: definition) }
    for definition in definitions where !permits(definition.pattern) {
      throw OperatorError.notPermitted(
        "'\(definition.pattern)' may not be defined here: permittedIdentifiers of the coordinator's configuration "
          + "does not cover it")
    }
    let applied = try await translating {
      try await self.store.apply(
        definitions, seeds: definitions.map { _ in .new(under: nil, settings.sampler) }, at: self.now().moment)
    }
    let stored = try await store.definitions()
    decide { $0.core.applied(applied, stored) }
    watchers.changed(.definitions)
    return applied
  }

  private func permits(_ pattern: IdentifierPattern) -> Bool {
    settings.permittedIdentifiers.isEmpty || settings.permittedIdentifiers.contains { $0.covers(pattern) }
  }

  package func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport] {
    let (stored, counts, standings) = try await translating {
      (
        try await self.store.definitions(), try await self.store.counts(), try await self.store.scheduleStandings()
      )
    }
    let wanted = Set(stored.lazy.map(\.definition).filter { $0.dailyAllowance != nil }.map(\.pattern))
    let (paces, used) = look { ($0.dispatcher.paces, $0.dispatcher.usedToday(by: wanted)) }
    let byPattern = Dictionary(grouping: counts, by: \.pattern)
    return stored.filter { one in patterns.isEmpty || patterns.contains { $0.names(one.definition.pattern) } }
      .sorted { $0.definition.pattern < $1.definition.pattern }
      .map { one in
        let counts = (byPattern[one.definition.pattern] ?? []).map { ($0.state, $0.count) }
        var report = DefinitionReport(
          definition: one.definition, appliedAt: one.appliedAt, problem: one.problem?.description,
          counts: Dictionary(counts, uniquingKeysWith: +),
          usualBatch: paces[one.definition.pattern]?.usualBatch, used: used[one.definition.pattern])
        if let standing = one.definition.pattern.literal.flatMap({ standings[$0] }) { report.standing = standing }
        return report
      }
  }

  package func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition {
    let record = try await request(identifier, number: number)
    let found = try await translating { try await self.store.definition(record.definition) }
    guard let found else { throw OperatorError.notFound("\(identifier) has no definition any more") }
    let applied = state.withLock { $0.core.index.definition(for: identifier) }
    return RequestDefinition(definition: found, isApplied: applied?.id == record.definition)
  }

  package func remove(_ pattern: IdentifierPattern) async throws {
    try await translating { try await self.store.remove(pattern) }
    let stored = try await store.definitions()
    decide { $0.core.definitionsChanged(stored) }
    watchers.changed(.definitions)
  }
}
