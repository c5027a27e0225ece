package import BatonModel
internal import Synchronization

/// Gives snapshots of the metrics. At most one snapshot is being made at a time, and a snapshot that is no older than a
/// second is given again. So scrapes, however many and however often, read the store and the hosts once a second.
package final class MetricsReader: Sendable {
  /// What a caller who did not make the snapshot waits for; nil if the one who did was cancelled meanwhile.
  private typealias Waiter = CheckedContinuation<MetricsSnapshot?, Never>

  private struct State {
    var last: (snapshot: MetricsSnapshot, at: Instant)?
    /// Not nil while somebody makes one.
    var waiters: [Waiter]?
  }

  private enum Turn {
    case known(MetricsSnapshot)
    case make
    case wait
  }

  private let state = Mutex(State())
  private let reuse: Duration
  private let now: @Sendable () -> Instant
  private let collect: @Sendable () async -> MetricsSnapshot

  /// - Parameter reuse: how old a snapshot may be that is given again.
  package init(
    reuse: Duration = MetricSettings().reuse, now: @escaping @Sendable () -> Instant,
    collect: @escaping @Sendable () async -> MetricsSnapshot
  ) {
    (self.reuse, self.now, self.collect) = (reuse, now, collect)
  }

  /// The last snapshot, or one that is made now. A caller that is cancelled gets one, too, which may lack what its
  /// collectors could not read; nobody else gets that one.
  package func snapshot() async -> MetricsSnapshot {
    while true {
      switch turn(at: now()) {
      case .known(let snapshot): return snapshot
      case .make: return await make()
      case .wait: if let snapshot = await wait() { return snapshot }
      }
    }
  }

  private func turn(at now: Instant) -> Turn {
    state.withLock { state in
      if state.waiters != nil { return .wait }
      if let last = state.last, now - last.at < reuse { return .known(last.snapshot) }
      state.waiters = []
      return .make
    }
  }

  private func make() async -> MetricsSnapshot {
    let began = now()
    let snapshot = await collect()
    let isWhole = !Task.isCancelled
    let waiters = state.withLock { state in
      if isWhole { state.last = (snapshot, began) }
      defer { state.waiters = nil }
      return state.waiters ?? []
    }
    for waiter in waiters { waiter.resume(returning: isWhole ? snapshot : nil) }
    return snapshot
  }

  private func wait() async -> MetricsSnapshot? {
    await withCheckedContinuation { waiter in
      let isTooLate = state.withLock { state in
        state.waiters?.append(waiter)
        return state.waiters == nil
      }
      if isTooLate { waiter.resume(returning: nil) }
    }
  }
}
