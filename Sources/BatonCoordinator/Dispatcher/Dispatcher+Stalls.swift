package import BatonModel

/// Launches that do not get further (contract, row 32).
extension Dispatcher {
  /// What a launch did that counts as progress. Heartbeats, texts and output do not.
  package enum Step: Hashable, Sendable {
    /// It committed a batch.
    case batch(completed: Int64, of: Int64?)
    /// It said, between two checkpoints, that more units are done.
    case units(completed: Int64, of: Int64?)
    /// It found items.
    case items
  }

  /// A launch got further. Heard when it is said, whether or not the store has it already: a slow disk is no stall.
  package mutating func progressed(_ launch: LaunchKey, _ step: Step, on host: HostName) {
    guard places[launch] == host, var state = hosts[host]?.launches[launch] else { return }
    switch step {
    case .batch(let completed, let total):
      if let pattern = definitions[state.requirementClass.definition]?.pattern {
        paces[pattern, default: Pace()].add(now.instant - state.checkpointAt)
      }
      state.checkpointAt = now.instant
      (state.completedUnits, state.totalUnits) = (completed, total ?? state.totalUnits)
    case .units(let completed, let total):
      guard completed != state.completedUnits else { return }
      (state.completedUnits, state.totalUnits) = (completed, total ?? state.totalUnits)
    case .items: break
    }
    (state.progressAt, state.isSuspect) = (now.instant, false)
    hosts[host]?.launches[launch] = state
  }

  /// What is known of the batches of definitions, to be kept over a restart.
  package var usualBatches: [IdentifierPattern: Duration] { paces.compactMapValues(\.usualBatch) }

  /// Suspects launches that have not got further for too long, and expires them at twice that time.
  mutating func findStalls() -> [Effect] {
    var effects: [Effect] = []
    for name in hosts.keys.sorted() {
      // Of a worker whose connection is away nobody can say whether it gets further.
      guard let state = hosts[name], state.link == .attached else { continue }
      for (launch, running) in state.launches.sorted(by: { $0.key < $1.key }) where running.expiring == nil {
        effects += watch(launch, running, on: name)
      }
    }
    return effects
  }

  private mutating func watch(_ launch: LaunchKey, _ running: RunningState, on host: HostName) -> [Effect] {
    guard let definition = definitions[running.requirementClass.definition],
      let limit = Stall.suspicion(of: definition, usualBatch: paces[definition.pattern]?.usualBatch)
    else { return [] }
    let elapsed = now.instant - running.progressAt
    if elapsed >= limit * 2 { return expire(launch, .stalled) }
    guard elapsed >= limit, !running.isSuspect else { return [] }
    hosts[host]?.launches[launch]?.isSuspect = true
    return [.note(launch.request, event: "suspect", detail: "no progress for \(Int(limit.inSeconds)) s on \(host)")]
  }

  /// This process was stopped, or the worker was away: what happened meanwhile is unknown.
  mutating func forgiveStalls(on host: HostName) {
    for launch in hosts[host]?.launches.keys.sorted() ?? [] {
      hosts[host]?.launches[launch]?.progressAt = now.instant
    }
  }
}
