/// What the coordinator tells a worker.
package enum CoordinatorMessage: Hashable, Sendable {
  /// The answer to `hello`: the worker holds a lease for `leaseTerm` from when it sent it.
  case welcome(leaseTerm: Duration)
  /// The coordinator does not take this worker; it ends, or tries again later if `isFinal` is false.
  case refused(String, isFinal: Bool)
  /// The lease runs for one more term from when heartbeat `number` was sent.
  case heartbeatAnswered(number: Int)
  /// Comes once per stream before the first launch that names it.
  // Indirect what is large and rare, or every message would be as large.
  indirect case definition(DefinitionID, Definition)
  /// What came in the place of a definition cannot be used: launches that name it fail for this reason. Made by the
  /// receiver; a coordinator never sends it.
  indirect case unusableDefinition(DefinitionID, DefinitionProblem)
  case launch(Assignment)
  case items(ItemPage)
  /// The items below `count` are in the store; `isFrozen` says that these are all.
  case itemsCommitted(LaunchKey, count: Int, isFrozen: Bool)
  /// The checkpoint of this batch is durable.
  case committed(LaunchKey, batch: Int)
  /// Asks the launch to stop within its closing window.
  case expire(LaunchKey, ExpiryReason)
  /// The launch is no longer this worker's: it is stopped at once and can commit nothing.
  case withdraw(LaunchKey, String)
  /// The launch can not go on: the store refused what it sent, for a reason that is its own fault.
  case refuse(LaunchKey, String)
  /// Until `lasting` is over the host's conditions are taken to be these; no overrides at all ends it now.
  indirect case simulate(ConditionOverrides, lasting: Duration)
  /// How far the store is that the answers until now are in; presented in the next hello.
  case receipt(Receipt)
  /// The ending is durable; the worker forgets the launch.
  case endingCommitted(LaunchKey)
}
