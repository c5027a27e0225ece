/// A message from a worker to the coordinator.
///
/// A worker repeats each message that must not be lost after every reconnection, until it is answered. A message that
/// arrives twice does no harm.
package enum WorkerMessage: Hashable, Sendable {
  /// The first message on every stream.
  // Large and rare cases are indirect; otherwise every message would take as much memory as the largest one.
  indirect case hello(Hello)
  /// Renews the lease. The answer has the same `number`.
  case heartbeat(number: Int)
  indirect case conditions(Conditions)
  /// A page of the items that the first launch of a request found.
  case items(ItemPage)
  /// Asks for `count` frozen items from index `start`.
  case itemsWanted(LaunchKey, start: Int, count: Int)
  case checkpoint(Checkpoint)
  /// Progress and texts between checkpoints. The message is not answered, and a lost update does no harm.
  case update(LaunchUpdate)
  case output(OutputChunk)
  /// The worker asked the launch to stop for a reason of its own, such as its budget, the host's conditions or a drain.
  case expiring(LaunchKey, ExpiryReason)
  /// A Swift handler ignored its deadline. The worker's process ends within a second and takes no launch until then.
  /// Everything that still runs in the process ends as lost, without a strike. The slots and GPUs of the launch become
  /// free when the process is gone.
  case overran(LaunchKey, ExpiryReason)
  case ended(Ending)
  /// A launch submits a request.
  indirect case submission(LaunchKey, LaunchSubmission)
  /// The worker is shutting down: it takes no new launches, and its launches expire.
  case draining
  /// How the host's transfers stand. After each welcome the worker tells all of them again.
  indirect case transfers(TransferReport)
}

/// How a worker presents itself at the beginning of each stream.
package struct Hello: Hashable, Sendable {
  package var host: HostName
  package var incarnation: Incarnation
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions
  /// The launches that this process runs, with their GPUs, and those whose end is not yet durable. Empty in the first
  /// hello of an incarnation.
  package var running: [RunningLaunch]
  /// The last receipt of each tenure that the worker has heard of, at most `Receipt.maximumKept`, the one that came
  /// last at the end. Empty if the worker has not received one.
  package var receipts: [Receipt]
  /// The secret that proves that this worker is the one that took the host's name first; `nil` from a worker of an
  /// older version.
  package var secret: [UInt8]?

  package init(
    host: HostName, incarnation: Incarnation, version: String, capabilities: Capabilities, conditions: Conditions,
    running: [RunningLaunch] = [], receipts: [Receipt] = [], secret: [UInt8]? = nil
  ) {
    self.receipts = receipts
    self.secret = secret
    self.host = host
    self.incarnation = incarnation
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
    self.running = running
  }

  package var process: WorkerProcess { WorkerProcess(host: host, incarnation: incarnation) }
}

/// A launch that a worker names in its hello.
package struct RunningLaunch: Hashable, Sendable {
  package var launch: LaunchKey
  /// The indices of the GPUs that the launch holds.
  package var gpus: [Int]

  package init(launch: LaunchKey, gpus: [Int] = []) {
    self.launch = launch
    self.gpus = gpus
  }
}

/// What a handler shows between two checkpoints. A field that is `nil` has not changed.
package struct LaunchUpdate: Hashable, Sendable {
  package var launch: LaunchKey
  package var title: String?
  package var subtitle: String?
  package var completedUnits: Int64?
  package var totalUnits: Int64?

  package init(
    launch: LaunchKey, title: String? = nil, subtitle: String? = nil, completedUnits: Int64? = nil,
    totalUnits: Int64? = nil
  ) {
    self.launch = launch
    self.title = title
    self.subtitle = subtitle
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
  }
}
