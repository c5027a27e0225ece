/// One launch as it is given to a worker: everything it needs to go on where the request stands.
package struct Assignment: Hashable, Sendable {
  package var launch: LaunchKey
  package var identifier: JobIdentifier
  /// The request's number within its identifier, for people and for `BATON_REQUEST`.
  package var requestNumber: Int
  package var definition: DefinitionID
  package var priority: Priority
  package var payload: [UInt8]?
  package var progress: Progress
  /// How many items are frozen in the store; nil until they are all there, or if the work has none there.
  package var frozenItems: Int?
  /// The launch before ended in the middle of a batch: this launch's first batch is done again.
  package var repeatsBatch: Bool
  /// Who submitted the request.
  package var principal: String
  /// The launch span: the parent of the worker's spans.
  package var trace: TraceContext
  package var startedAt: Timestamp
  /// Indices of the host's GPUs that this launch holds.
  package var gpus: [Int]
  /// Set when the launch was asked to stop while its worker was away.
  package var pendingExpiry: ExpiryReason?
  /// Started by `baton simulate launch`: the host's conditions do not stop it, its owner's word does.
  package var isSimulated: Bool
  /// How long the request waited for a host since its last launch expired or was lost; nil if there is none, if it ended
  /// otherwise, and after a backoff.
  package var resumedAfter: Duration?

  package init(
    launch: LaunchKey, identifier: JobIdentifier, requestNumber: Int, definition: DefinitionID, priority: Priority,
    payload: [UInt8]? = nil, progress: Progress = Progress(), frozenItems: Int? = nil, repeatsBatch: Bool = false,
    principal: String = "", trace: TraceContext, startedAt: Timestamp, gpus: [Int] = [],
    pendingExpiry: ExpiryReason? = nil, isSimulated: Bool = false
  ) {
    self.launch = launch
    self.identifier = identifier
    self.requestNumber = requestNumber
    self.definition = definition
    self.priority = priority
    self.payload = payload
    self.progress = progress
    self.frozenItems = frozenItems
    self.repeatsBatch = repeatsBatch
    self.principal = principal
    self.trace = trace
    self.startedAt = startedAt
    self.gpus = gpus
    self.pendingExpiry = pendingExpiry
    self.isSimulated = isSimulated
  }

  package var requirementClass: RequirementClass { RequirementClass(definition: definition, priority: priority) }
}

/// The end of one batch: the durable cursor and progress after it.
package struct Checkpoint: Hashable, Sendable {
  package var launch: LaunchKey
  /// Index of the batch that ended, counted over all launches of the request; the store takes exactly the next one.
  package var batch: Int
  package var cursor: [UInt8]?
  package var completedUnits: Int64
  package var totalUnits: Int64?
  package var subtitle: String?
  /// The work is done: nothing is left to run, whatever becomes of the launch.
  package var reachesEnd: Bool
  /// Nothing was done since the batch before: the checkpoint says that the end is reached, and is not counted as a batch.
  package var isEndOnly: Bool

  /// Largest cursor that the store takes, in bytes (configurable as `limits.checkpointBytes`).
  package static let maximumCursorBytes = 1 << 20

  package init(
    launch: LaunchKey, batch: Int, cursor: [UInt8]? = nil, completedUnits: Int64, totalUnits: Int64? = nil,
    subtitle: String? = nil, reachesEnd: Bool = false, isEndOnly: Bool = false
  ) {
    self.launch = launch
    self.batch = batch
    self.cursor = cursor
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
    self.subtitle = subtitle
    self.reachesEnd = reachesEnd
    self.isEndOnly = isEndOnly
  }
}

/// What a worker says of a launch that ended.
package struct Ending: Hashable, Sendable {
  package var launch: LaunchKey
  package var outcome: LaunchOutcome
  /// False if it had to be killed at its deadline.
  package var isGraceful: Bool
  /// What a refresh said that it found; nil if it said nothing.
  package var result: RefreshResult?
  /// What kind of error a failure was, of few values: the type of what was thrown, or `exit 3`. At most 255 bytes.
  package var errorType: String?

  package init(
    launch: LaunchKey, outcome: LaunchOutcome, isGraceful: Bool = true, result: RefreshResult? = nil,
    errorType: String? = nil
  ) {
    self.errorType = errorType
    self.launch = launch
    self.outcome = outcome
    self.isGraceful = isGraceful
    self.result = result
  }
}

/// Consecutive items of a request, from its first launch to the store or from the store to a worker.
package struct ItemPage: Hashable, Sendable {
  package var launch: LaunchKey
  /// Index of the first item of the page.
  package var start: Int
  package var items: [String]
  /// True on the way up if no page follows: the items are frozen with this one.
  package var isLast: Bool

  /// Items of one page on the way up, at most.
  package static let maximumItems = 1000
  /// Most items that one request may have, over all pages.
  package static let maximumTotal = 10_000_000
  /// Most bytes that the items of one request may take, as they are stored: their UTF-8 and four bytes each.
  package static let maximumTotalBytes = 1 << 30
  /// Bytes of one page on the way up, about.
  package static let targetBytes = 256 << 10

  package init(launch: LaunchKey, start: Int, items: [String], isLast: Bool = false) {
    self.launch = launch
    self.start = start
    self.items = items
    self.isLast = isLast
  }
}

/// What a command wrote, in order: kept per launch, the last 64 KiB of it.
package struct OutputChunk: Hashable, Sendable {
  package var launch: LaunchKey
  package var bytes: [UInt8]

  package static let maximumKeptBytes = 64 << 10

  package init(launch: LaunchKey, bytes: [UInt8]) {
    self.launch = launch
    self.bytes = bytes
  }
}
