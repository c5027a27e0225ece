public import BatonHandler
public import BatonModel

/// What one launch came to.
public struct TestLaunch: Sendable {
  /// How a launch ends; expiry is an outcome, never an error.
  public enum Outcome: Hashable, Sendable {
    /// The handler returned, whether or not it was asked to stop.
    case finished
    /// The handler threw, and was not asked to stop; with the text of what it threw. A refresh that returned `.failed`
    /// has failed too.
    case failed(String)
    /// The handler threw, whatever it was, after it was asked to stop.
    case expired(ExpiryReason)
    /// Its worker was lost, or it ignored its expiry and ended with its worker's process.
    case lost
  }

  /// 1 for the first launch of the request.
  public let number: Int
  public var outcome: Outcome {
    switch stored {
    case .finished: .finished
    case .failed(let text): .failed(text)
    case .expired(let reason): .expired(reason)
    case .lost: .lost
    }
  }

  /// The outcome as the store has it.
  let stored: LaunchOutcome
  /// What the handler threw, also if the outcome is `expired`; nil if it returned, or never ended.
  public let error: (any Error)?
  /// Why it was asked to stop, and until when; nil if it was not.
  public let expiry: Expiry?
  /// True if it still ran at the deadline of its expiry. The outcome is `lost` then.
  public let ignoredExpiry: Bool
  /// What was saved, in order.
  public let checkpoints: [TestCheckpoint]
  /// What the handler asked to save and could not.
  public let refusedCheckpoints: [TestCheckpoint]
  /// What watchers saw between the checkpoints.
  public let updates: [TestUpdate]
  /// What a refresh said that it found; nil if it said nothing.
  public let result: RefreshResult?
  /// On the manual clock, since it was made.
  public let startedAt: Duration
  public let endedAt: Duration
  /// Batches that began after the launch was asked to stop, and were saved. A cooperative handler has none, or one if
  /// it saves where it stopped.
  public let batchesAfterExpiry: Int
  /// How many points the handler passed in each batch that it began, by the batch's number; see `Interruption.Point`.
  public let points: [Int: Int]

  /// False if it had to be ended at its deadline: recorded as ungraceful, and its worker's process ends.
  public var isGraceful: Bool { !ignoredExpiry }
}

/// A checkpoint as a handler gave it.
public struct TestCheckpoint: Hashable, Sendable {
  /// The launch that it came from.
  public let launch: Int
  /// The number of the batch that it ends, from 0 over all launches of the request.
  public let batch: Int
  public let completedUnits: Int64
  /// Nil while the handler has not said it.
  public let totalUnits: Int64?
  /// On the manual clock, since it was made.
  public let savedAt: Duration
  let bytes: [UInt8]
  let identifier: JobIdentifier

  /// The cursor, decoded.
  /// - Throws: `HandlerError` with code `.otherVersion`, or what `JSONDecoder` says of it.
  public func cursor<Cursor: Decodable>(as type: Cursor.Type, version: Int = 1) throws -> Cursor {
    try CheckpointCoding.decode(type, version: version, from: bytes, of: identifier)
  }

  /// The checkpoint as the store keeps it: JSON, with the cursor's version.
  public var json: String { String(decoding: bytes, as: UTF8.self) }

  /// What makes two checkpoints the same place in the work.
  struct Place: Hashable {
    let bytes: [UInt8]
    let completedUnits: Int64
  }

  var place: Place { Place(bytes: bytes, completedUnits: completedUnits) }
}

/// One call of `task.update` or `task.report`: what it did not mention is nil.
public struct TestUpdate: Hashable, Sendable {
  public let title: String?
  public let subtitle: String?
  public let completedUnits: Int64?
  public let totalUnits: Int64?
  /// On the manual clock, since it was made.
  public let at: Duration
}
