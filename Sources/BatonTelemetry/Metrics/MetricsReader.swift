package import BatonModel
internal import Synchronization

/// Provides snapshots of the metrics to `/metrics` and to `MetricsExport`. It makes at most one snapshot at a time, and
/// returns the last snapshot again while it is not older than `reuse`, by default one second. So even many frequent
/// scrapes query the store and the hosts only once a second.
package final class MetricsReader: Sendable {
  /// A caller that waits while another caller makes the snapshot. It is resumed with `nil` if that other caller was
  /// cancelled.
  private typealias Waiter = CheckedContinuation<MetricsSnapshot?, Never>

  private struct State {
    var last: (snapshot: MetricsSnapshot, at: Instant)?
    /// The callers that wait for the snapshot that is being made; `nil` while none is being made.
    var waiters: [Waiter]?
  }

  /// What a caller of `snapshot` does next: it returns a known snapshot, makes one, or waits for the caller that makes
  /// one.
  private enum Turn {
    case known(MetricsSnapshot)
    case make
    case wait
  }

  private let state = Mutex(State())
  private let reuse: Duration
  private let now: @Sendable () -> Instant
  private let collect: @Sendable () async -> MetricsSnapshot

  /// - Parameter reuse: how old a snapshot may be to be returned again.
  package init(
    reuse: Duration = MetricSettings().reuse, now: @escaping @Sendable () -> Instant,
    collect: @escaping @Sendable () async -> MetricsSnapshot
  ) {
    (self.reuse, self.now, self.collect) = (reuse, now, collect)
  }

  /// Returns the last snapshot if it is recent enough, else a new one. A caller whose task is cancelled may get a
  /// snapshot that lacks the metrics which its collectors could not read; this snapshot is not given to any other
  /// caller.
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

  /// Waits for the snapshot that another caller makes; `nil` if that caller has ended already or was cancelled.
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
