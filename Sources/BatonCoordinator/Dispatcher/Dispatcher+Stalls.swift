package import BatonModel

/// Launches that do not get further (contract, row 32).
extension Dispatcher {
  /// What a launch did that counts as progress. Heartbeats, texts and output do not.
  package enum Step: Hashable, Sendable {
    /// It committed the batch of this index; nil counts as the next one.
    case batch(Int? = nil, completed: Int64, of: Int64?)
    /// It said, between two checkpoints, that more units are done.
    case units(completed: Int64, of: Int64?)
    /// It found items.
    case items
    /// It was answered what it waited for: the wait was not its own.
    case answered
  }

  /// A launch got further. Heard when it is said, whether or not the store has it already: a slow disk is no stall.
  package mutating func progressed(_ launch: LaunchKey, _ step: Step, on host: HostName) {
    guard places[launch] == host, var state = hosts[host]?.launches[launch] else { return }
    switch step {
    case .batch(let index, let completed, let total):
      if let index, let last = state.lastBatch, index <= last { return }
      state.lastBatch = index ?? state.lastBatch.map { $0 + 1 }
      if let pattern = definitions[state.requirementClass.definition]?.pattern {
        paces[pattern, default: Pace()].add(now.instant - state.checkpointAt)
      }
      state.checkpointAt = now.instant
      state.keepsCursor = true
      (state.completedUnits, state.totalUnits) = (completed, total ?? state.totalUnits)
    case .units(let completed, let total):
      guard completed != state.completedUnits else { return }
      (state.completedUnits, state.totalUnits) = (completed, total ?? state.totalUnits)
    case .items, .answered: break
    }
    (state.progressAt, state.isSuspect) = (now.instant, false)
    hosts[host]?.launches[launch] = state
  }

  /// What is known of the batches of definitions, to be kept over a restart.
  package var usualBatches: [IdentifierPattern: Duration] { paces.compactMapValues(\.usualBatch) }

  /// Suspects launches that have not got further for too long, and expires them at twice that time.
  mutating func findStalls() -> [Effect] {
    // Of a worker whose connection is away nobody can say whether it gets further.
    var late: [(launch: LaunchKey, running: RunningState, host: HostName)] = []
    for name in hostNames(where: { $0.link == .attached && !$0.launches.isEmpty }) {
      guard let launches = hosts[name]?.launches else { continue }
      for (launch, running) in launches where running.expiring == nil && isLate(running) {
        late.append((launch, running, name))
      }
    }
    return late.sorted { $0.launch < $1.launch }.flatMap { watch($0.launch, $0.running, on: $0.host) }
  }

  private func isLate(_ running: RunningState) -> Bool {
    return patience(with: running).map { now.instant - running.progressAt >= $0 } ?? false
  }

  /// How long it may run without progress; nil if nobody watches it.
  private func patience(with running: RunningState) -> Duration? {
    guard let definition = definitions[running.requirementClass.definition] else { return nil }
    return Stall.suspicion(
      of: definition, usualBatch: paces[definition.pattern]?.usualBatch, keepsCursor: running.keepsCursor)
  }

  private mutating func watch(_ launch: LaunchKey, _ running: RunningState, on host: HostName) -> [Effect] {
    guard let limit = patience(with: running) else { return [] }
    if now.instant - running.progressAt >= limit * 2 { return expire(launch, .stalled) }
    guard !running.isSuspect else { return [] }
    hosts[host]?.launches[launch]?.isSuspect = true
    return [.note(launch.request, event: .suspect, detail: "no progress for \(Int(limit.inSeconds)) s on \(host)")]
  }

  /// This process was stopped: what happened meanwhile is unknown.
  mutating func forgiveStalls(on host: HostName) {
    for launch in hosts[host]?.launches.keys.sorted() ?? [] {
      hosts[host]?.launches[launch]?.progressAt = now.instant
      hosts[host]?.launches[launch]?.checkpointAt = now.instant
      hosts[host]?.launches[launch]?.isSuspect = false
    }
  }
}
