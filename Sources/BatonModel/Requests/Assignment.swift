/// A launch as the coordinator gives it to a worker, with everything that the worker needs to go on at the request's
/// last checkpoint.
package struct Assignment: Hashable, Sendable {
  package var launch: LaunchKey
  package var identifier: JobIdentifier
  /// The number of the request within its identifier, for people and for `BATON_REQUEST`.
  package var requestNumber: Int
  package var definition: DefinitionID
  package var priority: Priority
  package var payload: [UInt8]?
  package var progress: Progress
  /// The number of items that are frozen in the store; `nil` until all items are there, and for work whose items are
  /// not frozen.
  package var frozenItems: Int?
  /// True if the previous launch did not end cleanly, so that it may have done a part of this launch's first batch.
  package var repeatsBatch: Bool
  /// The principal who submitted the request.
  package var principal: String
  /// The trace of the request, with the launch span as the parent of the worker's spans.
  package var trace: TraceContext
  package var startedAt: Timestamp
  /// The indices of the host's GPUs that this launch holds.
  package var gpus: [Int]
  /// The reason for which the launch was asked to stop while its worker was not connected; `nil` otherwise.
  package var pendingExpiry: ExpiryReason?
  /// Whether `baton simulate launch` started the launch. The host's conditions do not stop it; the owner's word does.
  package var isSimulated: Bool
  /// How long the request waited for a host after its last launch expired or was lost. `nil` for a first launch, after
  /// any other outcome, and if the request had to wait for a time or for another request.
  package var resumedAfter: Duration?
  /// The request as people know it. `launch` names the row of one of its shards.
  package var head: RequestID
  /// The shard that the launch works on; `nil` if the request was not divided.
  package var shard: Shard?
  /// Whether the start of the launch made other shards ready. The worker is not told.
  package var madeShards = false
  /// How the transfers of the request ended: of whole groups, in the order of their indexes.
  package var transfers: [TransferEvent] = []
  /// The time of the schedule for which the request stands, or of `repeat`; `nil` if a person, a poke or another job
  /// has asked for it.
  package var scheduledAt: Timestamp?
  /// How the requests that this one waited for have ended, in the order of `after`.
  package var inputs: [RequestInput] = []

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
    head = launch.request
  }

  package var requirementClass: RequirementClass { RequirementClass(definition: definition, priority: priority) }
}

/// The end of one batch: the cursor and the progress after it, which the store makes durable.
package struct Checkpoint: Hashable, Sendable {
  package var launch: LaunchKey
  /// The index of the batch that ended, counted over all launches of the request. The store accepts only the next
  /// index.
  package var batch: Int
  package var cursor: [UInt8]?
  package var completedUnits: Int64
  package var totalUnits: Int64?
  package var subtitle: String?
  /// Whether all work is done, so that nothing is left to run, whatever the outcome of the launch.
  package var reachesEnd: Bool
  /// Whether the checkpoint only says that the end is reached, and no work was done since the batch before. It does not
  /// count as a batch.
  package var isEndOnly: Bool
  /// Transfers that the launch has added since the batch before. They are durable with the checkpoint.
  package var transfers: [Transfer] = []
  /// The result that the launch has given since the batch before; `nil` keeps the one that is saved. It is durable with
  /// the checkpoint, and the last one is the result of the request once the request has succeeded.
  package var result: JobResult?

  /// The largest cursor that the store accepts, in bytes (configurable as `limits.checkpointBytes`).
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

/// What a handler commits: a checkpoint before it has its launch and its batch index.
package struct Commit: Hashable, Sendable {
  /// nil: the cursor stays as it is.
  package var cursor: [UInt8]?
  package var completedUnits: Int64
  package var totalUnits: Int64?
  package var subtitle: String?
  /// See `Checkpoint.reachesEnd`.
  package var reachesEnd: Bool
  /// See `Checkpoint.isEndOnly`.
  package var isEndOnly: Bool
  /// See `Checkpoint.transfers`.
  package var transfers: [Transfer] = []
  /// See `Checkpoint.result`.
  package var result: JobResult?

  package init(
    cursor: [UInt8]?, completedUnits: Int64, totalUnits: Int64?, subtitle: String? = nil, reachesEnd: Bool = false,
    isEndOnly: Bool = false
  ) {
    self.cursor = cursor
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
    self.subtitle = subtitle
    self.reachesEnd = reachesEnd
    self.isEndOnly = isEndOnly
  }
}

extension Checkpoint {
  /// The next batch of a request that has come as far as `progress` says.
  package init(_ commit: Commit, of launch: LaunchKey, after progress: Progress) {
    self.init(
      launch: launch, batch: progress.batches, cursor: commit.cursor ?? progress.cursor,
      completedUnits: commit.completedUnits, totalUnits: commit.totalUnits, subtitle: commit.subtitle,
      reachesEnd: commit.reachesEnd, isEndOnly: commit.isEndOnly)
    (transfers, result) = (commit.transfers, commit.result)
  }
}

extension Progress {
  /// How far a request has come once `checkpoint` is durable.
  package init(after checkpoint: Checkpoint) {
    self.init(
      batches: checkpoint.batch + (checkpoint.isEndOnly ? 0 : 1), cursor: checkpoint.cursor,
      completedUnits: checkpoint.completedUnits, totalUnits: checkpoint.totalUnits)
  }
}

/// What a worker says of a launch that ended.
package struct Ending: Hashable, Sendable {
  package var launch: LaunchKey
  package var outcome: LaunchOutcome
  /// False if the launch had to be ended by force at its deadline.
  package var isGraceful: Bool
  /// The result of a refresh; `nil` if the handler returned none.
  package var result: RefreshResult?
  /// The kind of error of a failure, which has few different values: the type of the thrown error, or `exit 3`. At most
  /// 255 bytes.
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

/// Consecutive items of a request, on the way from its first launch to the store, or from the store to a worker.
package struct ItemPage: Hashable, Sendable {
  package var launch: LaunchKey
  /// The index of the first item of the page.
  package var start: Int
  package var items: [String]
  /// True for the last page on the way to the store. The items are frozen with this page.
  package var isLast: Bool

  /// The most items of one page on the way to the store.
  package static let maximumItems = 1000
  /// The most items of one request, over all pages.
  package static let maximumTotal = 10_000_000
  /// The most bytes of the items of one request as they are stored: their UTF-8, and four bytes for each item.
  package static let maximumTotalBytes = 1 << 30
  /// About how many bytes one page on the way to the store has.
  package static let targetBytes = 256 << 10

  package init(launch: LaunchKey, start: Int, items: [String], isLast: Bool = false) {
    self.launch = launch
    self.start = start
    self.items = items
    self.isLast = isLast
  }
}

/// A part of the output of a command. The store appends the chunks of a launch, and keeps the last 64 KiB.
package struct OutputChunk: Hashable, Sendable {
  package var launch: LaunchKey
  package var bytes: [UInt8]
  /// When the coordinator took it, on its wall clock; nil if that is not known. No worker says a time, because the
  /// clocks of hosts differ.
  package var takenAt: Timestamp?

  package static let maximumKeptBytes = 64 << 10

  package init(launch: LaunchKey, bytes: [UInt8], takenAt: Timestamp? = nil) {
    self.launch = launch
    self.bytes = bytes
    self.takenAt = takenAt
  }
}

/// A part of a launch's output that came at one time, as the store keeps it.
package struct OutputPiece: Hashable, Sendable {
  /// When the coordinator took the first byte, on its wall clock; nil if an earlier version of Baton stored it. A line
  /// that came in several parts has the time of its first part, and lines of the same second may have one time.
  package var takenAt: Timestamp?
  package var bytes: [UInt8]

  package init(takenAt: Timestamp? = nil, bytes: [UInt8]) { (self.takenAt, self.bytes) = (takenAt, bytes) }
}

extension [OutputPiece] {
  /// The last `count` bytes.
  package func suffix(bytes count: Int) -> [OutputPiece] {
    var (kept, rest): ([OutputPiece], Int) = ([], count)
    for piece in reversed() where rest > 0 {
      kept.append(OutputPiece(takenAt: piece.takenAt, bytes: [UInt8](piece.bytes.suffix(rest))))
      rest -= piece.bytes.count
    }
    return kept.reversed()
  }
}
