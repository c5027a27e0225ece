public import BatonModel

extension Interruption {
  /// Returns interruptions for every place in a request of `batches` batches: before each batch, in it, after the last
  /// one, and in the rest of the handler after that. Each place comes with an expiry and with the loss of the worker.
  ///
  /// The result is meant as the arguments of a test, which makes a request of its own for each interruption. The sample
  /// is from `Examples/TestKit/CleanupTests.swift`:
  ///
  /// ```swift
  /// @Test("the cleanup repeats no more than the interrupted batch", arguments: Interruption.every(batches: 3))
  /// func repeatsOneBatch(_ interruption: Interruption) async throws {
  ///   let request = TestRequest("com.example.db-cleanup")
  ///   try await request.complete(cleanup(FakeDatabase()), interruptedBy: interruption)
  ///   #expect(request.repeatedBatches <= 1)
  /// }
  /// ```
  ///
  /// `TestRequest.checkEveryInterruption` counts the batches itself, interrupts a batch at several points, and compares
  /// the results. Prefer it, unless a test needs conditions of its own.
  /// - Parameters:
  ///   - batches: the number of batches that an undisturbed run commits, 0 or more. If it is greater than that, some
  ///     interruptions are not reached, and `TestRequest.complete` throws.
  ///   - reason: the reason of the expiries. `.cancelled` is not suitable, because it ends the request.
  public static func every(batches: Int, because reason: ExpiryReason = .draining) -> [Interruption] {
    every(points: Dictionary(uniqueKeysWithValues: (0...batches).map { ($0, 1) }), because: reason)
  }

  /// - Parameter points: the number of points in each batch, by the batch's number. The highest number stands for the
  ///   rest of the handler after the last batch.
  static func every(points: [Int: Int], because reason: ExpiryReason) -> [Interruption] {
    points.sorted { $0.key < $1.key }.flatMap { batch, count in
      [.expiry(reason, .after(batches: batch))]
        + chosen(of: count).map { .expiry(reason, .during(batch: batch, point: $0)) }
        + [.workerLost(.during(batch: batch)), .workerLost(.after(batches: batch + 1))]
    }.filter { $0 != .workerLost(.after(batches: points.count)) }
  }

  /// Returns the first, the middle and the last of `count` points. With all of them, a batch of a thousand points would
  /// be run a thousand times.
  private static func chosen(of count: Int) -> [Int] {
    Set([1, (count + 1) / 2, count].filter { $0 > 0 }).sorted()
  }
}
