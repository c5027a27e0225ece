import BatonCoordinator
import BatonJSON
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
