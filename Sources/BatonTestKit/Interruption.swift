public import BatonModel

/// Something that happens to a launch: what, and at which point of the handler's work.
///
/// ```swift
/// .expiry(.hostBusy, .after(batches: 2))
/// .workerLost(.during(batch: 2))
/// .checkpointRefused(batch: 2)
/// ```
public struct Interruption: Hashable, Sendable {
  /// A place in the work of a request. Batches are numbered from 0 over all its launches, as `BATON_BATCH` and
  /// `baton show` number them, so that batch 2 lies between `.after(batches: 2)` and `.after(batches: 3)`.
  public enum Point: Hashable, Sendable {
    /// Before the handler's first line.
    case atStart
    /// When so many batches of the request are committed, before the handler hears of the last one; if they already
    /// are when the launch starts, before its first line.
    case after(batches: Int)
    /// Between two checkpoints: at the first point, or the one with this number, of those that the handler passes.
    ///
    /// A point is where the handler or its fakes meet the kit: `batches` hands out a batch, `update` or `report` is
    /// called, the manual clock is slept on or moved, a fake calls `interruptionPoint()`; and at the end of each batch
    /// its commit, or after the last the return. At the commit the batch is done already, and is saved.
    case during(batch: Int, point: Int = 1)
    /// When the manual clock has moved by so much since the launch started.
    case elapsed(Duration)
  }

  enum Cause: Hashable {
    case expiry(ExpiryReason)
    case workerLost
    case checkpointRefused
  }

  let cause: Cause
  public let point: Point

  /// The launch is asked to stop: the handler's task is cancelled, and `task.expiry` says why and until when. If it was
  /// asked before, the first reason wins.
  public static func expiry(_ reason: ExpiryReason, _ point: Point) -> Self {
    Interruption(cause: .expiry(reason), point: point)
  }

  /// Another launch of the request is live: the launch is asked to stop, and can save nothing any more.
  public static func superseded(_ point: Point) -> Self { .expiry(.superseded, point) }

  /// The host, or its way to the coordinator, is gone. Nobody tells the handler: its next commit throws `.superseded`,
  /// and nothing that it does from here on counts.
  public static func workerLost(_ point: Point) -> Self { Interruption(cause: .workerLost, point: point) }

  /// The store does not take the checkpoint of this batch, once: the commit throws `.checkpointRefused`.
  public static func checkpointRefused(batch: Int) -> Self {
    Interruption(cause: .checkpointRefused, point: .during(batch: batch))
  }
}

extension Interruption: CustomStringConvertible {
  /// Such as `expiry 'hostBusy' after 2 batches`.
  public var description: String {
    switch cause {
    case .expiry(let reason): "expiry '\(reason.code)' \(point)"
    case .workerLost: "loss of the worker \(point)"
    case .checkpointRefused: "refusal of the checkpoint \(point)"
    }
  }
}

extension Interruption.Point: CustomStringConvertible {
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

/// A place at which a launch under test may be interrupted: call it in a fake, in the middle of its work, before it does
/// what the real thing would do on cancellation, such as `try Task.checkCancellation()`.
///
/// It counts as a point of `Interruption.Point.during`. Outside of a launch under test it does nothing.
public func interruptionPoint() { LaunchUnderTest.current?.reachPoint() }
