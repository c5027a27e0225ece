import Synchronization

extension ManualClock {
  /// Waits until the clock has reached `deadline`; with `sleepsMoveTime` moves it there.
  /// - Parameter tolerance: ignored; the clock is exact.
  /// - Throws: `CancellationError` as soon as the task is cancelled, and if it was before.
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
      // Asked under the lock that `onCancel` takes: a cancellation is seen here, or finds the sleeper there.
      if Task.isCancelled { return (.failure(CancellationError()), []) }
      if sleeper.wakesAt <= timeline.elapsed { return (.success(()), []) }
      timeline.sleepers.append(sleeper)
      return (nil, timeline.takeSatisfiedWatchers())
    }
    if let end { sleeper.continuation.resume(with: end) }
    for watcher in watchers { watcher.continuation.resume() }
  }

  /// Returns once `count` tasks sleep on the clock: then it can be moved without a race. Returns at once if they do.
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

/// Waits until so many tasks sleep.
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
