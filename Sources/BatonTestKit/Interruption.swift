public import BatonModel

/// An event that interrupts a launch under test, and the point of the handler's work at which it happens.
///
/// ```swift
/// let interruptions: [Interruption] = [
///   .expiry(.hostBusy, .after(batches: 2)),
///   .workerLost(.during(batch: 2)),
///   .checkpointRefused(batch: 2),
/// ]
/// ```
///
/// Pass it to `TestRequest.launch(_:interruptedBy:)` or `TestRequest.complete(_:interruptedBy:)`. A launch that ends
/// before the point is an error, so that a test cannot pass without the interruption. `Examples/TestKit` has samples:
/// `CleanupTests.swift` for an expiry, `ImporterTests.swift` for the loss of a worker.
///
/// A fake can also interrupt the launch by itself, with `TestRequest.expire(_:)` and `TestRequest.loseWorker()`.
public struct Interruption: Hashable, Sendable {
  /// A place in the work of a request.
  ///
  /// Batches are numbered from 0 over all launches of the request, as in `BATON_BATCH` and `baton show`. Batch 2 is
  /// therefore between `.after(batches: 2)` and `.after(batches: 3)`.
  public enum Point: Hashable, Sendable {
    /// Before the handler's first line.
    case atStart
    /// When this number of batches of the request has been committed, and the call of `checkpoint` that saved the last
    /// one has not returned yet. If they had been committed before the launch started, it is the same as `atStart`.
    case after(batches: Int)
    /// Within a batch, at the point with the given number, which counts from 1 in each batch.
    ///
    /// The handler passes a point whenever it, or a fake that it calls, uses the kit:
    ///
    /// - `batches` hands out a batch;
    /// - `update` or `report` is called;
    /// - the code sleeps on the manual clock, or moves it with `advance(by:)`;
    /// - a fake calls `interruptionPoint()`;
    /// - the handler commits the batch, or returns or throws after the last batch. This is the last point of a batch.
    ///   At a commit the work of the batch is done: an expiry there lets it be saved, and the loss of the worker does
    ///   not.
    case during(batch: Int, point: Int = 1)
    /// When the manual clock has moved by this duration since the launch started.
    case elapsed(Duration)
  }

  enum Cause: Hashable {
    case expiry(ExpiryReason)
    case workerLost
    case checkpointRefused
  }

  let cause: Cause
  /// Where in the handler's work the interruption happens.
  public let point: Point

  /// The launch is asked to stop: the handler's task is cancelled, and `task.expiry` has the reason and the deadline.
  /// The handler can still save its batch, unless the reason is `.superseded` or `.leaseLost`.
  ///
  /// If the launch has been asked to stop before, the first reason stays.
  public static func expiry(_ reason: ExpiryReason, _ point: Point) -> Self {
    Interruption(cause: .expiry(reason), point: point)
  }

  /// Another launch of the request is live: the launch is asked to stop, and can save nothing more. It is the same as
  /// `.expiry(.superseded, point)`.
  public static func superseded(_ point: Point) -> Self { .expiry(.superseded, point) }

  /// The host fails, or its connection to the coordinator. The handler does not notice it until its next commit throws
  /// `HandlerError` with the code `.superseded`. Nothing that the handler saves from here on counts, and the outcome of
  /// the launch is `lost`.
  public static func workerLost(_ point: Point) -> Self { Interruption(cause: .workerLost, point: point) }

  /// The store refuses the checkpoint of this batch, once: the commit throws `HandlerError` with the code
  /// `.checkpointRefused`. If the handler tries again, the checkpoint is saved.
  public static func checkpointRefused(batch: Int) -> Self {
    Interruption(cause: .checkpointRefused, point: .during(batch: batch))
  }
}

extension Interruption: CustomStringConvertible {
  /// A text such as `expiry 'hostBusy' after 2 batches`.
  /// The interruption in words, for the name of a test case.
  public var description: String {
    switch cause {
    case .expiry(let reason): "expiry '\(reason.code)' \(point)"
    case .workerLost: "loss of the worker \(point)"
    case .checkpointRefused: "refusal of the checkpoint \(point)"
    }
  }
}

extension Interruption.Point: CustomStringConvertible {
  /// The point in words, for the name of a test case.
  public var description: String {
    switch self {
    case .atStart: "at the start"
    case .after(let batches): "after \(counted(batches, "batch", plural: "batches"))"
    case .during(let batch, 1): "during batch \(batch)"
    case .during(let batch, let point): "during batch \(batch), at point \(point)"
    case .elapsed(let time): "\(time) after the start"
    }
  }
}

/// Marks a place in a fake at which the launch under test may be interrupted.
///
/// Call it in the middle of the fake's work, at each place where the real service would notice a cancellation, and
/// before the fake does what the real service does then:
///
/// ```swift
/// for row in rows {
///   interruptionPoint()  // With the batch half done, a launch may be interrupted here.
///   try Task.checkCancellation()
///   state.withLock { _ = $0.remove(row) }  // Purging a row that is gone changes nothing.
/// }
/// ```
///
/// Without such a call, a launch is interrupted only at the beginning and at the end of a batch that uses the kit in no
/// other way. The sample is from `Examples/TestKit/Cleanup.swift`.
///
/// The call counts as a point of `Interruption.Point.during(batch:point:)`. Outside of a launch under test it does
/// nothing. A task that the fake creates with `Task.detached` is outside of the launch.
public func interruptionPoint() { LaunchUnderTest.current?.reachPoint() }
