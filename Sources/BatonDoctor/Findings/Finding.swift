/// The result of one check of a host: what was found, what it means, and what to do about it.
package struct Finding: Hashable, Sendable {
  package enum Level: String, CaseIterable, Hashable, Sendable {
    case ok
    /// Baton runs, but not as well as it could.
    case warning
    /// A promise does not hold on this host, or Baton does not run.
    case problem
  }

  package enum Area: String, CaseIterable, Hashable, Sendable {
    case storage, clock, processes, access, versions, limits, conditions
  }

  package var area: Area
  /// The name of the check, such as `fileSystem`. It stays the same in all versions, for scripts.
  package var check: String
  package var level: Level
  /// What was found, in one sentence.
  package var found: String
  /// What to do; `nil` if there is nothing to do.
  package var remedy: String?

  package init(_ area: Area, _ check: String, _ level: Level, _ found: String, remedy: String? = nil) {
    self.area = area
    self.check = check
    self.level = level
    self.found = found
    self.remedy = remedy
  }
}

extension HostFacts {
  /// All findings, in the order in which they are shown.
  package var findings: [Finding] {
    settingsFindings + storageFindings + clockFindings + processFindings + accessFindings + versionFindings
      + limitFindings + conditionFindings
  }

  private var settingsFindings: [Finding] {
    mistakes.map {
      Finding(.access, "settings", .problem, $0, remedy: "correct the settings: Baton does not start with them")
    }
  }
}
