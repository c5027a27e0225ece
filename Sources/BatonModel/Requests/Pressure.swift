/// Decides which launch gives way when a host has to make room (contract, row 32).
package enum Pressure {
  /// A launch that may have to give way, with the facts that the decision needs.
  package struct Candidate: Hashable, Sendable {
    package var launch: LaunchKey
    /// The time since its last checkpoint, or since its start: the work that would be lost.
    package var atRisk: Duration
    /// The progress of the launch, from 0 to 1; 0 if the total is unknown.
    package var progress: Double

    package init(launch: LaunchKey, atRisk: Duration, progress: Double) {
      self.launch = launch
      self.atRisk = atRisk
      self.progress = progress
    }
  }

  /// The launch that would lose the least work since its last checkpoint. Among equals it is the launch with the least
  /// progress. `nil` if there are no candidates.
  package static func victim(among candidates: [Candidate]) -> LaunchKey? {
    candidates.min {
      ($0.atRisk, $0.progress, $0.launch) < ($1.atRisk, $1.progress, $1.launch)
    }?.launch
  }
}
