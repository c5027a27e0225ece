import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

/// The text of `baton definitions X --versions`: each version with the keys that differ from the one before.
func versionsText(_ versions: [DefinitionVersion], _ console: Console) -> [String] {
  let now = console.environment.now()
  return versions.enumerated().flatMap { index, version in
    let by = version.appliedBy.isEmpty ? "" : " by \(version.appliedBy.onOneLine)"
    let heading = "version \(version.number), applied \(version.appliedAt.dated(from: now))\(by)"
    guard index + 1 < versions.count else { return [console.style(of: .output).bold(heading)] }
    let changes = version.changes(since: versions[index + 1])
    return [console.style(of: .output).bold(heading)] + changes.flatMap(\.lines)
  }
}

extension DefinitionVersion {
  fileprivate func changes(since earlier: DefinitionVersion) -> [DefinitionChange] {
    DefinitionChange.between(DefinitionValue(earlier.definition), DefinitionValue(definition))
  }
}

extension JSONValue {
  static func versions(_ versions: [DefinitionVersion]) -> [JSONValue] {
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
