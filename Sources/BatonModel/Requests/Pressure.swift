/// Who gives way when a host has to be relieved (contract, row 32).
package enum Pressure {
  /// One launch, as far as giving way concerns it.
  package struct Candidate: Hashable, Sendable {
    package var launch: LaunchKey
    /// Since its last checkpoint, or its start: the work that it might lose.
    package var atRisk: Duration
    /// 0 to 1; a launch that does not know its total counts as not begun.
    package var progress: Double

    package init(launch: LaunchKey, atRisk: Duration, progress: Double) {
      self.launch = launch
      self.atRisk = atRisk
      self.progress = progress
    }
  }

  /// The one that would lose least work since its last checkpoint, then the least progressed.
  package static func victim(among candidates: [Candidate]) -> LaunchKey? {
    candidates.min {
      ($0.atRisk, $0.progress, $0.launch) < ($1.atRisk, $1.progress, $1.launch)
    }?.launch
  }
}
