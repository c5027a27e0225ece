package import BatonModel

/// Starting, stopping and forgetting launches.
extension Dispatcher {
  /// Notes that the store has ended the launch, and frees what it held.
  package mutating func ended(_ launch: LaunchKey) {
    if let host = places[launch], let state = change(host, { $0.launches[launch] }) ?? nil {
      charge(state, on: host)
      learnDuration(of: state)
    }
    release(launch)
  }

  /// Asks a running launch to stop. The first reason wins: one launch, one cause, one span status.
  package mutating func expire(_ launch: LaunchKey, _ reason: ExpiryReason) -> [Effect] {
    guard let host = places[launch], let state = hosts[host]?.launches[launch] else {
      openClaims.note(reason, of: launch)
      return []
    }
    guard state.expiring == nil else { return [] }
    let isElsewhere = change(host) { state in
      state.launches[launch]?.expiring = reason
      return state.lease == .elsewhere
    }
    // The coordinator that serves the host hears of it from the store.
    if isElsewhere == true { return [.noteExpiry(launch, reason)] }
    return [.noteExpiry(launch, reason), .send(host, .expire(launch, reason))]
  }

  /// The worker has asked the launch to stop by its own decision.
  package mutating func workerExpires(_ launch: LaunchKey, _ reason: ExpiryReason, on host: HostName) -> [Effect] {
    guard let incarnation = hosts[host]?.incarnation, places[launch] == host,
      hosts[host]?.launches[launch]?.expiring == nil
    else { return [] }
    hosts[host]?.launches[launch]?.expiring = reason
    return [.noteExpiry(launch, reason, from: WorkerProcess(host: host, incarnation: incarnation))]
  }

  /// A Swift handler has ignored its deadline, and its worker's process is about to end. The host gets no more
  /// launches. What the launch holds stays taken until the process is gone, so that nothing runs beside it.
  package mutating func workerOverran(
    _ launch: LaunchKey, _ reason: ExpiryReason, on host: HostName
  ) -> [Effect] {
    guard places[launch] == host else { return [] }
    workerDrains(host)
    let effects = workerExpires(launch, reason, on: host)
    hosts[host]?.launches[launch]?.hasOverrun = true
    return effects
  }

  /// The endings of the launches that overran their deadlines on this host. They are stored once the worker's process
  /// is gone.
  package func overrunEndings(on host: HostName) -> [Ending] {
    let overrun = (hosts[host]?.launches ?? [:]).filter(\.value.hasOverrun)
    return overrun.sorted { $0.key < $1.key }.compactMap { launch, state in
      state.expiring.map { Ending(launch: launch, outcome: .expired($0), isGraceful: false) }
    }
  }

  package mutating func conditionsChanged(_ conditions: Conditions, on host: HostName) {
    hosts[host]?.host.conditions = conditions
  }

  /// The worker is shutting down: it takes no new launches, and its launches are expiring.
  package mutating func workerDrains(_ host: HostName) {
    hosts[host]?.isShuttingDown = true
    hosts[host]?.host.isDraining = true
  }

  /// Sets whether an operator drains the host. The store keeps the setting across restarts.
  package mutating func setDraining(_ host: HostName, _ isDraining: Bool) -> [Effect] {
    if hosts[host] == nil { hosts[host] = .unknown(host) }
    hosts[host]?.isDrainedByOperator = isDraining
    let isShuttingDown = hosts[host]?.isShuttingDown ?? false
    hosts[host]?.host.isDraining = isDraining || isShuttingDown
    if isDraining { return expireAll(on: host, .draining) }
    for requirementClass in ready.keys { ready[requirementClass]?.passedOver[host] = nil }
    return []
  }

  /// Asks all launches of the host to stop, if this coordinator serves it.
  mutating func expireAll(on host: HostName, _ reason: ExpiryReason) -> [Effect] {
    if hosts[host]?.lease == .elsewhere { return [] }
    return (hosts[host]?.launches.keys.sorted() ?? []).flatMap { expire($0, reason) }
  }

  /// Sends a launch to its host, after its definition if the definition was not sent on this connection before.
  mutating func deliver(_ assignment: Assignment, to host: HostName) -> [Effect] {
    let isNews = change(host) { $0.knownDefinitions.insert(assignment.definition).inserted } ?? false
    guard isNews else { return [.send(host, .launch(assignment))] }
    guard let definition = definitions[assignment.definition] else {
      preconditionFailure("launch \(assignment.launch) names definition \(assignment.definition), which nobody learnt")
    }
    return [.send(host, .definition(assignment.definition, definition)), .send(host, .launch(assignment))]
  }

  /// Records that the launch runs on the host and holds its slots and GPUs.
  mutating func hold(_ launch: LaunchKey, _ state: RunningState, on host: HostName) {
    let request = state.head ?? launch.request
    // A launch whose worker has come back goes on with the curve that it had.
    let curve = active[request]?.curve ?? ProgressCurve()
    release(launch)
    active[request, default: ActiveRequest(curve: curve)].launches.insert(launch)
    if hosts[host] == nil { hosts[host] = .unknown(host) }
    let definition = definitions[state.requirementClass.definition]
    places[launch] = host
    if let head = state.head { heads[launch.request] = head }
    change(host) { known in
      known.launches[launch] = state
      known.host.usedSlots += definition?.requirements.slots ?? 1
      if !state.gpus.isEmpty { known.host.usedGPUs += state.gpus }
      known.noteForBooking(launch, slots: definition?.requirements.slots ?? 1)
    }
    if let definition {
      count(1, of: definition)
      ledger.hold(definition.requirements.slots, of: definition, at: now.steady)
    }
  }

  /// Forgets where the launch runs, and frees its slots and GPUs.
  mutating func release(_ launch: LaunchKey) {
    guard let host = places.removeValue(forKey: launch),
      let state = change(host, { $0.launches.removeValue(forKey: launch) }) ?? nil
    else { return }
    heads[launch.request] = nil
    let request = state.head ?? launch.request
    active[request]?.launches.remove(launch)
    if active[request]?.launches.isEmpty == true { active[request] = nil }
    let definition = definitions[state.requirementClass.definition]
    change(host) { known in
      known.giveBack(definition?.requirements.slots ?? 1, state.gpus)
      known.booking?.waitsFor[launch] = nil
    }
    guard let definition else { return }
    count(-1, of: definition)
    ledger.hold(-definition.requirements.slots, of: definition, at: now.steady)
  }
}

extension HostState {
  mutating func giveBack(_ slots: Int, _ gpus: [Int]) {
    host.usedSlots -= slots
    host.giveBack(gpus)
  }
}

extension Host {
  /// Frees each GPU once: `usedGPUs` can contain a GPU twice, because a launch that a hello reported may hold the same
  /// GPUs as its own unsettled reservation.
  mutating func giveBack(_ gpus: [Int]) {
    for gpu in gpus {
      if let place = usedGPUs.firstIndex(of: gpu) { usedGPUs.remove(at: place) }
    }
  }
}
