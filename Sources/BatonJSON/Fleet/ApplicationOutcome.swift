package import BatonCoordinator
import BatonModel
package import BatonStore

/// What became of one definition, and of the requests that waited under an earlier one.
package struct ApplicationOutcome: Sendable {
  package var applied: AppliedDefinition
  /// How many requests wait under an earlier definition.
  package var keeping = 0
  /// How many requests were given this definition.
  package var refrozen = 0
  /// Why a request could not be given this definition.
  package var refusals: [String] = []
  /// The first of the requests that wait, with whether they will run this definition.
  package var named: [Named] = []

  package init(
    applied: AppliedDefinition, keeping: Int = 0, named: [Named] = []
  ) {
    (self.applied, self.keeping, self.named) = (applied, keeping, named)
  }

  package struct Named: Sendable {
    package var request: RequestName
    package var isGiven: Bool

    package init(request: RequestName, isGiven: Bool) { (self.request, self.isGiven) = (request, isGiven) }
  }
}

extension ApplicationOutcome {
  /// Counts the requests that wait under earlier definitions, also where the definition is unchanged: it may have been
  /// applied without them before. The definitions are applied already, so an error of this count is no error of the
  /// command.
  package static func counting(_ applied: [AppliedDefinition], _ api: any OperatorAPI) async -> [Self] {
    let present = applied.filter { $0.change != .created }.map(\.pattern)
    let found = present.isEmpty ? [] : (try? await api.definitions(named: present)) ?? []
    // A wildcard names the definitions below it too.
    let reports = found.filter { present.contains($0.definition.pattern) }
    var outcomes: [Self] = []
    for one in applied {
      let waiting = reports.first { $0.definition.pattern == one.pattern }?.waiting ?? 0
      // The request that this application has submitted has the new definition.
      let earlier = max(0, waiting - (one.submitted == nil ? 0 : 1))
      let keeping = earlier == 0 ? nil : try? await EarlierText.find(one.pattern, api) { $0.definition != one.id }
      outcomes.append(
        Self(
          applied: one, keeping: one.change == .updated ? earlier : keeping?.count ?? 0,
          named: (keeping?.named ?? []).map { Named(request: $0, isGiven: false) }))
    }
    return outcomes
  }
}

extension JSONValue {
  package init(_ outcome: ApplicationOutcome) {
    let applied = outcome.applied
    self = [
      "identifier": JSONValue(applied.pattern.rawValue), "change": JSONValue(applied.change.rawValue),
      "submittedRequest": JSONValue(applied.submitted?.number),
      "waitingWithEarlierDefinition": JSONValue(outcome.keeping), "refrozen": JSONValue(outcome.refrozen),
      "waiting": .array(
        outcome.named.map { named in
          [
            "identifier": JSONValue(named.request.identifier.rawValue), "request": JSONValue(named.request.number),
            "runs": JSONValue(named.isGiven ? "thisDefinition" : "earlierDefinition"),
          ]
        }),
    ]
  }
}
