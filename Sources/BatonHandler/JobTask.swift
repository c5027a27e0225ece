public import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One launch of a request, as its handler sees it.
///
/// A handler reads from it what was submitted, saves its progress with it, and learns from it when to stop:
///
/// ```swift
/// worker.register("com.example.db-cleanup") { task in
///   let purgeable = Array(1...2_000)
///   for try await batch in task.batches(of: purgeable, size: 50) {
///     try await purge(batch)
///   }
/// }
/// ```
///
/// The sample is from `Examples/Worker/Main.swift`, where a second handler saves a cursor of its own.
///
/// **The end.** When the handler returns, the request has succeeded. When it throws, the launch has failed, unless it
/// was asked to stop before; see `Handler`.
///
/// **Interruption.** A launch that has to stop expires: its Swift task is cancelled, and `expiry` then has the reason
/// and the deadline. Until the deadline the handler can save its last batch. After the deadline its process may be
/// ended. A host can also vanish without any notice.
///
/// **What is repeated.** Work before the last checkpoint is never repeated. Work after it is repeated by the next
/// launch. With `batches(of:size:)`, or with one checkpoint for each batch, this is at most one batch for each
/// interruption (promise P5). `(identifier, request)` and the number of the batch name a batch: use them as the key of
/// effects that must not happen twice.
///
/// A `JobTask` is valid while its handler runs. What a handler leaves running after it has returned can save nothing:
/// `checkpoint` throws `HandlerError` with the code `.superseded`.
public struct JobTask: Sendable {
  /// The identifier under which the request was submitted, such as `com.example.export.42`.
  public let identifier: JobIdentifier
  /// The request's number, which counts from 1 within its identifier. It stays the same in all launches of the request.
  public let request: Int
  /// The launch's number, which counts from 1 within its request. From 2 on, the handler goes on from the last
  /// checkpoint of the request, if there is one.
  public let launch: Int
  /// The kind of the definition.
  public let kind: JobKind
  /// The part of the identifier that the `*` of the definition's identifier stands for: `42` if `com.example.export.42`
  /// was submitted and `com.example.export.*` is defined. `nil` if the definition has no wildcard.
  public let wildcard: String?
  /// Who submitted the request, in the words of the submitter. Baton does not verify it, so do not derive any rights
  /// from it.
  public let principal: String
  /// The bytes that were submitted with the request, at most 64 KiB; `nil` if there were none. `payload(as:)` decodes
  /// them from JSON.
  public let payload: [UInt8]?

  /// The GPUs that this launch holds, by the ids that their drivers use, such as NVIDIA's UUIDs (`GPU-8f2…`). Other
  /// launches may hold the other GPUs of the host, so use only these. Empty if the definition requires no GPU.
  public let gpus: [String]

  /// The shard of the request that this launch works on, if the job's definition says `work.shards`; otherwise `nil`.
  /// Each shard has checkpoints of its own, and several of them run at the same time, on one host or on many.
  public let shard: JobShard?

  /// The time of the schedule for which the request stands, without jitter, or that of `repeat`. A request that was
  /// missed, or that a backfill has made, stands for a time that has passed. `nil` if a person, a poke or another job
  /// has asked for the request.
  public let scheduledTime: Timestamp?

  package let runtime: any LaunchRuntime
  /// How transfers of the request have ended.
  let assignedTransfers: [TransferEvent]
  let assignedInputs: [RequestInput]
  let added = AddedTransfers()
  let given = GivenResult()

  /// - Parameter gpus: the GPUs that the launch holds, by the ids that their drivers use.
  package init(
    _ assignment: Assignment, _ definition: Definition, gpus: [String] = [], _ runtime: any LaunchRuntime
  ) {
    identifier = assignment.identifier
    request = assignment.requestNumber
    launch = assignment.launch.number
    kind = definition.kind
    wildcard = definition.pattern.wildcardValue(in: assignment.identifier)
    principal = assignment.principal
    payload = assignment.payload
    (assignedTransfers, assignedInputs) = (assignment.transfers, assignment.inputs)
    scheduledTime = assignment.scheduledAt
    self.gpus = gpus
    shard = assignment.shard.map { JobShard(index: $0.index, count: definition.spread?.shards ?? 1) }
    self.runtime = runtime
  }

  /// The reason why this launch has to stop, and its deadline; `nil` while it may go on.
  ///
  /// When it is set, the handler's task is cancelled too, so a handler notices an expiry with `try
  /// Task.checkCancellation()`. It reads this property if it wants to know how much time is left. The first reason
  /// stays, with one exception: `superseded` replaces it, because the launch can save nothing from then on. The
  /// deadline does not change by that.
  public var expiry: Expiry? { runtime.expiry }

  /// The units of the request's last durable checkpoint. `report(completed:of:)` does not change them.
  public var progress: JobProgress {
    let progress = runtime.progress
    return JobProgress(completedUnits: progress.completedUnits, totalUnits: progress.totalUnits)
  }

  /// Decodes the payload from JSON. `Examples/Worker/Main.swift` has a sample.
  ///
  /// A payload that the handler cannot read fails the launch, and fails it again in each retry. Make the type accept
  /// the payloads of requests that an older client has submitted.
  /// - Throws: `HandlerError` with the code `.noPayload` if the request was submitted without a payload.
  ///   `DecodingError` if the payload does not fit the type.
  public func payload<Value: Decodable>(as type: Value.Type) throws -> Value {
    guard let payload else {
      throw HandlerError(.noPayload, "request \(request) of \(identifier) was submitted without a payload")
    }
    return try JSONDecoder().decode(type, from: Data(payload))
  }

  /// Shows a title and a subtitle to the people who watch the request, within a second. `nil` keeps the text that is
  /// shown.
  ///
  /// The texts are not stored: they are gone when the launch ends or the coordinator restarts. They are also no
  /// progress, so they do not keep a launch from expiring as `stalled`. The method returns at once, and does nothing
  /// while there is no connection to the coordinator. `Examples/Worker/Main.swift` has a sample.
  public func update(title: String? = nil, subtitle: String? = nil) {
    runtime.update(title: title, subtitle: subtitle, completedUnits: nil, totalUnits: nil)
  }

  /// Shows progress between two checkpoints to the people who watch the request, within a second.
  ///
  /// Like the texts of `update(title:subtitle:)`, it is not stored. In contrast to them it is progress, if `completed`
  /// has changed. Call it in batches that take long: a launch of kind `continued`, or of a definition with
  /// `stallAfter`, expires as `stalled` if it reports no progress and commits no batch for too long.
  /// - Parameters:
  ///   - completed: the number of units that are done in the whole request.
  ///   - total: the number of units in all; `nil` keeps the number that is shown.
  public func report(completed: Int64, of total: Int64? = nil) {
    runtime.update(title: nil, subtitle: nil, completedUnits: completed, totalUnits: total)
  }
}

/// The part of a request that one launch works on.
public struct JobShard: Hashable, Sendable {
  /// The number of the shard, from 0 to `count - 1`.
  public let index: Int
  /// How many shards the request has.
  public let count: Int

  /// - Precondition: `index` is at least 0 and less than `count`.
  public init(index: Int, count: Int) {
    precondition(index >= 0 && index < count, "shard \(index) of \(count) does not exist")
    self.index = index
    self.count = count
  }

  /// The shard's share of so many units: a range of their indices. The shares of all shards together are all units,
  /// without gaps, and their lengths differ by at most one.
  public func range(of units: Int) -> Range<Int> {
    let (length, longer) = units.quotientAndRemainder(dividingBy: count)
    let start = index * length + min(index, longer)
    return start..<(start + length + (index < longer ? 1 : 0))
  }
}

/// The order to stop a launch, with its reason and its deadline. A handler reads it from `JobTask.expiry`.
public struct Expiry: Hashable, Sendable {
  /// Why the launch has to stop.
  public var reason: ExpiryReason
  /// The end of the closing window. The handler must have returned or thrown by then. A handler that still runs is
  /// ended together with its worker's process, if `WorkerConfiguration.endsProcessOnOverrun` is set. A command is
  /// killed with SIGKILL.
  ///
  /// In a test with BatonTestKit the deadline is a time of the request's `ManualClock`. Compare it with the `now` of
  /// that clock.
  public var deadline: ContinuousClock.Instant

  /// Creates an order to stop, for a test of code that takes one.
  public init(reason: ExpiryReason, deadline: ContinuousClock.Instant) {
    self.reason = reason
    self.deadline = deadline
  }
}

/// How far a request has come, in units of the handler's choice: for `JobTask.batches(of:size:)` these are elements of
/// the collection.
public struct JobProgress: Hashable, Sendable {
  /// The number of units that are done in the whole request.
  public var completedUnits: Int64
  /// The number of units in all; `nil` while it is not known.
  public var totalUnits: Int64?

  /// Creates a progress, for a test of code that takes one.
  public init(completedUnits: Int64, totalUnits: Int64? = nil) {
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
  }
}
