import BatonModel
import BatonStore

/// The calls about definitions.
extension PermittedAPI {
  func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition] {
    let names = definitions.map(\.pattern.rawValue).joined(separator: " ")
    for definition in definitions where !caller.covers(definition.pattern) {
      throw await refuse(
        "Apply", definition.pattern.rawValue,
        .notPermitted(
          "'\(definition.pattern)' may not be defined with the credential '\(caller.name)', which is limited to "
            + (caller.limits ?? []).map(\.rawValue).joined(separator: ", ")), "outside of the credential's patterns")
    }
    for definition in definitions {
      guard let (key, other) = definition.submitted.first(where: { !caller.covers($0.pattern) }) else { continue }
      throw await refuse(
        "Apply", definition.pattern.rawValue,
        .notPermitted(
          "'\(key)' of '\(definition.pattern)' names '\(other)', which the credential '\(caller.name)' may not submit: "
            + "it is limited to \((caller.limits ?? []).map(\.rawValue).joined(separator: ", "))"),
        "\(key) outside of the credential's patterns")
    }
    return try await changing("Apply", names) { try await api.apply(definitions) }
  }

  func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport] {
    try await api.definitions(named: patterns).filter { caller.covers($0.definition.pattern) }
  }

  func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition {
    try await check(identifier, number, "RequestDefinition")
    return try await api.definition(of: identifier, number: number)
  }

  func remove(_ pattern: IdentifierPattern) async throws {
    try await check(pattern, "Remove")
    try await changing("Remove", pattern.rawValue) { try await api.remove(pattern) }
  }
}
