/// What a worker tells the coordinator. Everything that must not be lost is sent again after a reconnection until it
/// is answered, and harmless if it arrives twice.
package enum WorkerMessage: Hashable, Sendable {
  /// First on every stream.
  // Indirect what is large and rare, or every message would be as large.
  indirect case hello(Hello)
  /// Renews the lease; `number` comes back in the answer.
  case heartbeat(number: Int)
  indirect case conditions(Conditions)
  /// Items that the first launch found.
  case items(ItemPage)
  /// Asks for frozen items.
  case itemsWanted(LaunchKey, start: Int, count: Int)
  case checkpoint(Checkpoint)
  /// Live progress and texts between checkpoints; nobody answers, and losing one loses nothing.
  case update(LaunchUpdate)
  case output(OutputChunk)
  /// The worker asked the launch to stop on its own (budget, conditions, drain).
  case expiring(LaunchKey, ExpiryReason)
  /// A Swift handler ignored its deadline: the worker's process ends within a second, takes no launch until then, and
  /// everything that still runs there is lost without blame. What the launch holds is free when the process is gone.
  case overran(LaunchKey, ExpiryReason)
  case ended(Ending)
  /// The worker is shutting down: it takes nothing new, and its launches are expiring.
  case draining
}

package struct Hello: Hashable, Sendable {
  package var host: HostName
  package var incarnation: Incarnation
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions
  /// Launches that run here, with the GPUs they hold; empty in the first hello of an incarnation.
  package var running: [RunningLaunch]
  /// The last one that any coordinator sent; nil if none did.
  package var receipt: Receipt?
  /// What proves that it is the worker that had this name before; nil for a worker of an older version.
  package var secret: [UInt8]?

  package init(
    host: HostName, incarnation: Incarnation, version: String, capabilities: Capabilities, conditions: Conditions,
    running: [RunningLaunch] = [], receipt: Receipt? = nil, secret: [UInt8]? = nil
  ) {
    self.receipt = receipt
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

package struct RunningLaunch: Hashable, Sendable {
  package var launch: LaunchKey
  package var gpus: [Int]

  package init(launch: LaunchKey, gpus: [Int] = []) {
    self.launch = launch
    self.gpus = gpus
  }
}

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
