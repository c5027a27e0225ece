package import BatonModel

/// Detects launches that make no progress (contract, row 32).
extension Dispatcher {
  /// A step of a launch that counts as progress. Heartbeats, texts and output do not count.
  package enum Step: Hashable, Sendable {
    /// The launch has committed the batch with this index; nil stands for the next index.
    case batch(Int? = nil, completed: Int64, of: Int64?)
    /// The launch has reported, between two checkpoints, how many units are done.
    case units(completed: Int64, of: Int64?)
    /// The launch has found items.
    case items
    /// The coordinator has answered a question of the launch. The launch was not responsible for the wait.
    case answered
  }

  /// Notes the progress of a launch, when the worker reports it and not when the store has it: a slow disk is no
  /// stall.
  package mutating func progressed(_ launch: LaunchKey, _ step: Step, on host: HostName) {
    guard places[launch] == host, let index = hosts.index(forKey: host),
      let advance = hosts.values[index].progressed(launch, step, at: now)
    else { return }
    active[advance.request]?.curve.add(batches: advance.batch == nil ? 0 : 1, units: advance.units, at: now.date)
    guard let batch = advance.batch, let pattern = definitions[batch.definition]?.pattern else { return }
    paces[pattern, default: Pace()].add(batch.duration)
  }

  /// The usual batch durations of definitions, which the store keeps across a restart.
  package var usualBatches: [IdentifierPattern: Duration] { paces.compactMapValues(\.usualBatch) }

  /// Suspects launches that have made no progress for too long, and expires them at twice that time.
  mutating func findStalls() -> [Effect] {
    // While a worker's connection is away, the progress of its launches is unknown.
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

  /// How long the launch may run without progress; nil if launches of its definition are not watched for stalls.
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

  /// Leaves `gap`, the time since the last tick, out of the measurement: this process was stopped, and the progress
  /// that workers reported meanwhile may be unread.
  mutating func excuseStalls(for gap: Duration) {
    for name in hosts.keys {
      for launch in hosts[name]?.launches.keys.sorted() ?? [] {
        change(name) { $0.launches[launch]?.delayStall(by: gap) }
      }
    }
  }

  /// Restarts the measurement for all launches on the host, because this process was stopped and their progress
  /// meanwhile is unknown.
  mutating func forgiveStalls(on host: HostName) {
    for launch in hosts[host]?.launches.keys.sorted() ?? [] {
      hosts[host]?.launches[launch]?.progressAt = now.instant
      hosts[host]?.launches[launch]?.checkpointAt = now.instant
      hosts[host]?.launches[launch]?.isSuspect = false
    }
  }
}

/// What a step has added to the progress of a request.
private struct Advance {
  var request: RequestID
  var units: Int64
  var batch: EndedBatch?
}

/// A batch that has ended, for the pace of its definition.
private struct EndedBatch {
  var definition: DefinitionID
  var duration: Duration
}

// Each checkpoint takes these steps twice. They change the launch where it is: a copy of it, or of its host, would cost
// more than the steps.

extension HostState {
  /// - Returns: the progress that the step has made; nil if it has made none.
  fileprivate mutating func progressed(_ launch: LaunchKey, _ step: Dispatcher.Step, at now: Now) -> Advance? {
    guard let index = launches.index(forKey: launch) else { return nil }
    return launches.values[index].progressed(launch, step, at: now)
  }
}

extension RunningState {
  fileprivate mutating func progressed(_ launch: LaunchKey, _ step: Dispatcher.Step, at now: Now) -> Advance? {
    var advance: Advance?
    switch step {
    case .batch(let index, let completed, let total):
      if let index, let last = lastBatch, index <= last { return nil }
      lastBatch = index ?? lastBatch.map { $0 + 1 }
      let batch = EndedBatch(definition: requirementClass.definition, duration: now.instant - checkpointAt)
      checkpointAt = now.instant
      keepsCursor = true
      advance = Advance(request: head ?? launch.request, units: complete(completed, of: total), batch: batch)
    case .units(let completed, let total):
      guard completed != completedUnits else { return nil }
      advance = Advance(request: head ?? launch.request, units: complete(completed, of: total))
    case .items, .answered: break
    }
    (progressAt, isSuspect) = (now.instant, false)
    return advance
  }

  /// - Returns: how many units were completed since the last report; 0 for the first report to this coordinator.
  private mutating func complete(_ completed: Int64, of total: Int64?) -> Int64 {
    defer { (completedUnits, totalUnits) = (completed, total ?? totalUnits) }
    return completedUnits.map { completed - $0 } ?? 0
  }
}
