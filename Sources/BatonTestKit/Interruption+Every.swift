public import BatonModel

extension Interruption {
  /// Every place between and within so many batches, with both an expiry and a lost worker: arguments for a test that
  /// makes its own request for each.
  ///
  /// ```swift
  /// @Test(arguments: Interruption.every(batches: 3))
  /// func survives(_ interruption: Interruption) async throws
  /// ```
  /// - Parameters:
  ///   - batches: how many an undisturbed run commits, 0 or more.
  ///   - reason: of the expiries; not `.cancelled`, which ends the request.
  public static func every(batches: Int, because reason: ExpiryReason = .draining) -> [Interruption] {
    every(points: Dictionary(uniqueKeysWithValues: (0...batches).map { ($0, 1) }), because: reason)
  }

  /// - Parameter points: how many points each batch has, and after the last one the rest of the handler.
  static func every(points: [Int: Int], because reason: ExpiryReason) -> [Interruption] {
    points.sorted { $0.key < $1.key }.flatMap { batch, count in
      [.expiry(reason, .after(batches: batch))]
        + chosen(of: count).map { .expiry(reason, .during(batch: batch, point: $0)) }
        + [.workerLost(.during(batch: batch)), .workerLost(.after(batches: batch + 1))]
    }.filter { $0 != .workerLost(.after(batches: points.count)) }
  }

  /// The first, the middle and the last, so that a batch of a thousand points is not run a thousand times.
  private static func chosen(of count: Int) -> [Int] {
    Set([1, (count + 1) / 2, count].filter { $0 > 0 }).sorted()
  }
}
