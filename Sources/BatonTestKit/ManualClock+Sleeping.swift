import Synchronization

extension ManualClock {
  /// Waits until the clock has reached `deadline`. A clock with `sleepsMoveTime` is moved to the deadline instead.
  ///
  /// In a handler under test the call is also a point of `Interruption.Point.during(batch:point:)`.
  /// - Parameters:
  ///   - deadline: a time of a manual clock. If it has passed, the call returns at once.
  ///   - tolerance: ignored, because the clock is exact.
  /// - Throws: `CancellationError` as soon as the task is cancelled, also if it was cancelled before the call.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    await LaunchUnderTest.current?.goesToSleep()
    try Task.checkCancellation()
    let wakesAt = Self.start.duration(to: deadline)
    guard sleepsMoveTime else { return try await waitUntil(wakesAt) }
    move(to: max(wakesAt, elapsed)) { !Task.isCancelled }
    try Task.checkCancellation()
  }

  private func waitUntil(_ wakesAt: Duration) async throws {
    let id = timeline.withLock { $0.nextID() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { append(Timeline.Sleeper(id: id, wakesAt: wakesAt, continuation: $0)) }
    } onCancel: {
      timeline.withLock { $0.removeSleeper(id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private func append(_ sleeper: Timeline.Sleeper) {
    let (end, watchers) = timeline.withLock { timeline -> (Result<Void, any Error>?, [Watcher]) in
      // `onCancel` takes the same lock. A cancellation is therefore either seen here, or finds the sleeper in the list.
      if Task.isCancelled { return (.failure(CancellationError()), []) }
      if sleeper.wakesAt <= timeline.elapsed { return (.success(()), []) }
      timeline.sleepers.append(sleeper)
      return (nil, timeline.takeSatisfiedWatchers())
    }
    if let end { sleeper.continuation.resume(with: end) }
    for watcher in watchers { watcher.continuation.resume() }
  }

  /// Returns when at least `count` tasks sleep on the clock.
  ///
  /// Call it before `advance(by:)` in a test that moves the clock while the handler sleeps on it. Otherwise the test
  /// may move the clock before the handler sleeps, and the handler then waits for a time that the test does not reach.
  /// The sample is from `Examples/TestKit/ImporterTests.swift`:
  ///
  /// ```swift
  /// async let launch = request.launch(Importer(source: source, clock: request.clock).run)
  /// try await request.clock.sleepers()
  /// request.clock.advance(by: .seconds(600))
  /// ```
  ///
  /// The call waits for ever if fewer tasks sleep on the clock; give such a test a time limit. With `sleepsMoveTime` no
  /// task ever sleeps.
  /// - Parameter count: the number of tasks, 1 by default.
  /// - Throws: `CancellationError` if the waiting task is cancelled.
  public func sleepers(_ count: Int = 1) async throws {
    let id = timeline.withLock { $0.nextID() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { append(Watcher(id: id, count: count, continuation: $0)) }
    } onCancel: {
      timeline.withLock { $0.removeWatcher(id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private func append(_ watcher: Watcher) {
    let end = timeline.withLock { timeline -> Result<Void, any Error>? in
      if Task.isCancelled { return .failure(CancellationError()) }
      if timeline.sleepers.count >= watcher.count { return .success(()) }
      timeline.watchers.append(watcher)
      return nil
    }
    if let end { watcher.continuation.resume(with: end) }
  }
}

/// A caller of `ManualClock.sleepers(_:)`, which waits until `count` tasks sleep.
struct Watcher {
  let id: Int
  let count: Int
  let continuation: CheckedContinuation<Void, any Error>
}

extension Timeline {
  mutating func removeSleeper(_ id: Int) -> Sleeper? {
    sleepers.firstIndex { $0.id == id }.map { sleepers.remove(at: $0) }
  }

  mutating func removeWatcher(_ id: Int) -> Watcher? {
    watchers.firstIndex { $0.id == id }.map { watchers.remove(at: $0) }
  }

  mutating func takeSatisfiedWatchers() -> [Watcher] {
    defer { watchers.removeAll { $0.count <= sleepers.count } }
    return watchers.filter { $0.count <= sleepers.count }
  }
}
