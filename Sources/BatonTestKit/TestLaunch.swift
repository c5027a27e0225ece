public import BatonHandler
public import BatonModel

/// The result of one launch under test. `TestRequest.launch(_:interruptedBy:)` returns it, and `TestRequest.launches`
/// has the results of all launches.
///
/// `Examples/TestKit` has tests that read it.
public struct TestLaunch: Sendable {
  /// How a launch ended. An expiry is an outcome of its own, and no failure: it uses up no retry.
  public enum Outcome: Hashable, Sendable {
    /// The handler returned. It does not matter whether it had been asked to stop.
    case finished
    /// The handler threw an error and had not been asked to stop, or a refresh returned `.failed`. The text describes
    /// the error.
    case failed(String)
    /// The handler threw any error after it had been asked to stop for this reason.
    case expired(ExpiryReason)
    /// The worker was lost, or the handler still ran at the deadline of its expiry and a worker would have ended its
    /// process.
    case lost
  }

  /// The launch's number, which counts from 1 within the request.
  public let number: Int
  /// How the launch ended.
  public var outcome: Outcome {
    switch stored {
    case .finished: .finished
    case .failed(let text): .failed(text)
    case .expired(let reason): .expired(reason)
    case .lost: .lost
    }
  }

  /// The outcome in the form that the store keeps.
  let stored: LaunchOutcome
  /// The error that the handler threw, for every outcome; `nil` if the handler returned, or had not ended when the
  /// launch was over.
  public let error: (any Error)?
  /// The reason and the deadline of the launch's expiry; `nil` if the launch was not asked to stop. The deadline is a
  /// time of the request's clock.
  public let expiry: Expiry?
  /// `true` if the handler still ran at the deadline of its expiry. The outcome is then `lost`.
  public let ignoredExpiry: Bool
  /// The checkpoints that were saved, in order.
  public let checkpoints: [TestCheckpoint]
  /// The checkpoints that the handler tried to save in vain, in order.
  public let refusedCheckpoints: [TestCheckpoint]
  /// The calls of `task.update` and `task.report`, in order.
  public let updates: [TestUpdate]
  /// The result that a refresh returned; `nil` for other handlers, and for a refresh that threw.
  public let result: RefreshResult?
  /// When the launch started: the `elapsed` of the request's clock.
  public let startedAt: Duration
  /// When the launch ended: the `elapsed` of the request's clock.
  public let endedAt: Duration
  /// The number of saved batches that began after the launch had been asked to stop. It is 0 for a handler that heeds
  /// its cancellation, or 1 if the handler saves its position before it throws.
  public let batchesAfterExpiry: Int
  /// The number of points that the handler passed in each batch that it began, by the batch's number; see
  /// `Interruption.Point.during(batch:point:)`.
  public let points: [Int: Int]

  /// `false` if the handler still ran at its deadline. A worker records such a launch as ungraceful, and may end its
  /// process; see `WorkerConfiguration.endsProcessOnOverrun`.
  public var isGraceful: Bool { !ignoredExpiry }
}

/// A checkpoint that a handler saved, or tried to save. `Examples/TestKit/ImporterTests.swift` reads the cursor of one.
public struct TestCheckpoint: Hashable, Sendable {
  /// The number of the launch that saved it.
  public let launch: Int
  /// The number of the batch that it ends, which counts from 0 over all launches of the request.
  public let batch: Int
  /// The number of units that are done in the whole request.
  public let completedUnits: Int64
  /// The number of units in all; `nil` if the handler has not told it.
  public let totalUnits: Int64?
  /// When it was saved: the `elapsed` of the request's clock.
  public let savedAt: Duration
  let bytes: [UInt8]
  let identifier: JobIdentifier

  /// Decodes the cursor, as `JobTask.lastCheckpoint(as:version:)` does.
  /// - Parameters:
  ///   - type: the type that the handler passed to `checkpoint`.
  ///   - version: the version that the handler passed to `checkpoint`.
  /// - Throws: `HandlerError` with the code `.otherVersion` if the checkpoint has another version. `DecodingError` if
  ///   it does not fit the type.
  public func cursor<Cursor: Decodable>(as type: Cursor.Type, version: Int = 1) throws -> Cursor {
    try CheckpointCoding.decode(type, version: version, from: bytes, of: identifier)
  }

  /// The checkpoint in the form that the store keeps: JSON with the cursor and its version, such as
  /// `{"cursor":{"page":2},"version":1}`.
  public var json: String { String(decoding: bytes, as: UTF8.self) }

  /// A place in the work. Two checkpoints with equal places end the same batch.
  struct Place: Hashable {
    let bytes: [UInt8]
    let completedUnits: Int64
  }

  var place: Place { Place(bytes: bytes, completedUnits: completedUnits) }
}

/// One call of `task.update(title:subtitle:)` or `task.report(completed:of:)`. A property is `nil` if the call did not
/// set it.
public struct TestUpdate: Hashable, Sendable {
  /// The title.
  public let title: String?
  /// The subtitle.
  public let subtitle: String?
  /// The units that were reported as done.
  public let completedUnits: Int64?
  /// The units that were reported in all.
  public let totalUnits: Int64?
  /// When the call was made: the `elapsed` of the request's clock.
  public let at: Duration
}
