package import BatonModel
package import BatonStore

extension Dispatcher {
  /// Takes over the store's state at the start of a coordinator. Each live lease gets one full new term (promise P7).
  /// Until a host says hello, its last stored report is used.
  package mutating func restore(_ fleet: FleetRecord, at now: Now) {
    self.now = now
    lastTickAt = now.instant
    definitions = fleet.definitions
    isPaused = fleet.isPaused
    use = fleet.use
    (lastUses, keptUses) = (fleet.lastUses, fleet.lastUses)
    paces = fleet.usualBatches.mapValues { Pace(inherited: $0) }
    for requirementClass in fleet.readyClasses { noteReady(requirementClass) }
    for record in fleet.hosts { hosts[record.name] = restored(record) }
    for running in fleet.running {
      let state = RunningState(
        identifier: running.identifier, requirementClass: running.requirementClass, gpus: [],
        expiring: running.expiring, startedSteady: running.startedSteady, seenAt: now.instant)
      hold(running.launch, state, on: running.host)
    }
  }

  private mutating func restored(_ record: HostRecord) -> HostState {
    var state = HostState.unknown(record.name)
    if let incarnation = record.incarnation { grant(incarnation, to: &state, at: now.instant) }
    state.isDrainedByOperator = record.isDraining
    state.host.isDraining = record.isDraining
    state.host.evictions = record.evictions
    state.use = record.use
    if let word = record.word {
      state.version = word.version
      state.host.capabilities = word.capabilities
      state.host.conditions = word.conditions
    }
    return state
  }
}
