package import BatonModel

/// Starting, stopping and forgetting launches.
extension Dispatcher {
  /// The launch has ended, by the store's word; what it held is free.
  package mutating func ended(_ launch: LaunchKey) {
    if let host = places[launch], let state = hosts[host]?.launches[launch] { charge(state, on: host) }
    release(launch)
  }

  /// Asks a running launch to stop. The first reason wins: one launch, one cause, one span status.
  package mutating func expire(_ launch: LaunchKey, _ reason: ExpiryReason) -> [Effect] {
    guard let host = places[launch], let state = hosts[host]?.launches[launch] else {
      openClaims.note(reason, of: launch)
      return []
    }
    guard state.expiring == nil else { return [] }
    hosts[host]?.launches[launch]?.expiring = reason
    return [.noteExpiry(launch, reason), .send(host, .expire(launch, reason))]
  }

  /// The worker asked the launch to stop on its own.
  package mutating func workerExpires(_ launch: LaunchKey, _ reason: ExpiryReason, on host: HostName) -> [Effect] {
    guard hosts[host]?.launches[launch]?.expiring == nil, places[launch] == host else { return [] }
    hosts[host]?.launches[launch]?.expiring = reason
    return [.noteExpiry(launch, reason)]
  }

  package mutating func conditionsChanged(_ conditions: Conditions, on host: HostName) {
    hosts[host]?.host.conditions = conditions
  }

  /// The worker takes nothing new: its launches are expiring.
  package mutating func workerDrains(_ host: HostName) {
    hosts[host]?.isShuttingDown = true
    hosts[host]?.host.isDraining = true
  }

  /// An operator's word, kept over restarts.
  package mutating func setDraining(_ host: HostName, _ isDraining: Bool) -> [Effect] {
    if hosts[host] == nil { hosts[host] = .unknown(host) }
    hosts[host]?.isDrainedByOperator = isDraining
    let isShuttingDown = hosts[host]?.isShuttingDown ?? false
    hosts[host]?.host.isDraining = isDraining || isShuttingDown
    return isDraining ? expireAll(on: host, .draining) : []
  }

  mutating func expireAll(on host: HostName, _ reason: ExpiryReason) -> [Effect] {
    (hosts[host]?.launches.keys.sorted() ?? []).flatMap { expire($0, reason) }
  }

  mutating func deliver(_ assignment: Assignment, to host: HostName) -> [Effect] {
    guard let definition = definitions[assignment.definition] else {
      preconditionFailure("launch \(assignment.launch) names definition \(assignment.definition), which nobody learnt")
    }
    var effects: [Effect] = []
    if hosts[host]?.knownDefinitions.insert(assignment.definition).inserted == true {
      effects.append(.send(host, .definition(assignment.definition, definition)))
    }
    effects.append(.send(host, .launch(assignment)))
    return effects
  }

  mutating func hold(_ launch: LaunchKey, _ state: RunningState, on host: HostName) {
    release(launch)
    if hosts[host] == nil { hosts[host] = .unknown(host) }
    let definition = definitions[state.requirementClass.definition]
    places[launch] = host
    hosts[host]?.launches[launch] = state
    hosts[host]?.host.usedSlots += definition?.requirements.slots ?? 1
    hosts[host]?.host.usedGPUs += state.gpus
    if let definition { runningByPattern[definition.pattern, default: 0] += 1 }
  }

  mutating func release(_ launch: LaunchKey) {
    guard let host = places.removeValue(forKey: launch),
      let state = hosts[host]?.launches.removeValue(forKey: launch)
    else { return }
    let definition = definitions[state.requirementClass.definition]
    hosts[host]?.host.usedSlots -= definition?.requirements.slots ?? 1
    hosts[host]?.host.usedGPUs.removeAll { state.gpus.contains($0) }
    guard let pattern = definition?.pattern, let count = runningByPattern[pattern] else { return }
    runningByPattern[pattern] = count > 1 ? count - 1 : nil
  }
}
