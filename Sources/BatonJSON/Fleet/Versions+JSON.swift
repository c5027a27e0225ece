import BatonCoordinator
import BatonModel
package import BatonSpec
package import BatonStore

extension DefinitionVersion {
  package func changes(since earlier: DefinitionVersion) -> [DefinitionChange] {
    DefinitionChange.between(DefinitionValue(earlier.definition), DefinitionValue(definition))
  }
}

extension JSONValue {
  package static func versions(_ versions: [DefinitionVersion]) -> [JSONValue] {
    versions.enumerated().map { index, version in
      let changes = index + 1 < versions.count ? version.changes(since: versions[index + 1]) : []
      return [
        "version": JSONValue(version.number), "appliedAt": JSONValue(version.appliedAt),
        "appliedBy": version.appliedBy.isEmpty ? .null : JSONValue(version.appliedBy),
        "keys": .array(changes.map { JSONValue($0) }),
        "definition": JSONValue(DefinitionValue(version.definition)),
      ]
    }
  }
}
