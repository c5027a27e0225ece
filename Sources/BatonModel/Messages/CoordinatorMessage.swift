/// A message from the coordinator to a worker.
package enum CoordinatorMessage: Hashable, Sendable {
  /// Answers `hello`. The worker holds a lease for `leaseTerm`, counted from the time at which it sent the hello.
  case welcome(leaseTerm: Duration)
  /// The coordinator does not accept this worker, for the reason in the text. If `isFinal` is true, the worker ends;
  /// otherwise it connects again later.
  case refused(String, isFinal: Bool)
  /// Answers heartbeat `number`. The lease runs for one more term, counted from the time at which the worker sent that
  /// heartbeat.
  case heartbeatAnswered(number: Int)
  /// A definition. It is sent once per stream, before the first launch that refers to it.
  // Large and rare cases are indirect; otherwise every message would take as much memory as the largest one.
  indirect case definition(DefinitionID, Definition)
  /// A definition that this process cannot use: launches that refer to it fail for this reason. The receiver makes this
  /// message when it decodes a definition; a coordinator never sends it.
  indirect case unusableDefinition(DefinitionID, DefinitionProblem)
  case launch(Assignment)
  case items(ItemPage)
  /// The first `count` items of the request are in the store. If `isFrozen` is true, the request has no more items.
  /// - Parameter end: the end of the launch's shard, once the items are frozen and cut into shards.
  case itemsCommitted(LaunchKey, count: Int, isFrozen: Bool, end: Int64? = nil)
  /// The checkpoint of this batch is durable.
  /// - Parameter end: the end of the launch's shard now; `nil` if it has no range of units. The next batch does not
  ///   pass it.
  case committed(LaunchKey, batch: Int, end: Int64? = nil)
  /// Answers the submission of a launch that has this name.
  indirect case submitted(LaunchKey, name: String, LaunchSubmissionAnswer)
  /// Asks the launch to stop within its closing window.
  case expire(LaunchKey, ExpiryReason)
  /// The launch no longer belongs to this worker, for the reason in the text. The worker stops it, and it can commit
  /// nothing more.
  case withdraw(LaunchKey, String)
  /// The store refused the checkpoint or the items that the launch sent, for the reason in the text, so the launch
  /// cannot go on. The fault lies in what was sent.
  case refuse(LaunchKey, String)
  /// The worker replaces its host's conditions by these for the time `lasting`. Empty overrides end a simulation at
  /// once.
  indirect case simulate(ConditionOverrides, lasting: Duration)
  /// The state of the store that contains the answers sent so far. The worker presents its last receipt in its next
  /// hello.
  case receipt(Receipt)
  /// The end of the launch is durable, and the worker forgets the launch.
  case endingCommitted(LaunchKey)
  /// Orders for the host's transfers, at most `TransferOrder.mostInMessage`. Each may come again.
  indirect case transfers([TransferOrder])
}
