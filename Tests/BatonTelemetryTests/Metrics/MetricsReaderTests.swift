import BatonModel
import BatonTelemetry
import Foundation
import Synchronization
import Testing

/// How often the metrics are read, and how often they are collected for it.
@Suite(.timeLimit(.minutes(10))) struct MetricsReaderTests {
  /// A source whose collections end when the test says so.
  private final class Source: Sendable {
    struct State {
      var begun = 0
      var open: [CheckedContinuation<Void, Never>] = []
      var watchers: [CheckedContinuation<Void, Never>] = []
    }

    let state = Mutex(State())

    var begun: Int { state.withLock { $0.begun } }

    /// Collects a snapshot that contains the number of the collection, from 1.
    func collect() async -> MetricsSnapshot {
      let number = state.withLock { state in
        state.begun += 1
        for watcher in state.watchers { watcher.resume() }
        state.watchers = []
        return state.begun
      }
      await withCheckedContinuation { go in state.withLock { $0.open.append(go) } }
      return MetricsFixture.snapshot([MetricsFixture.gauge(Double(number))])
    }

    /// Waits until a collection is under way, and ends it.
    func end() async {
      while !Task.isCancelled {
        let one = state.withLock { $0.open.popLast() }
        if let one { return one.resume() }
        await Task.yield()
      }
    }
  }

  private static func value(_ snapshot: MetricsSnapshot) -> MetricFamily.Value? {
    snapshot.families.first?.samples.first?.value
  }

  @Test("A snapshot is given again for a second, from when it was asked for, and not after it")
  func reuse() async {
    let clock = StandingClock()
    let calls = Mutex(0)
    let reader = MetricsReader(
      now: { clock.now },
      collect: {
        calls.withLock { $0 += 1 }
        clock.advance(.milliseconds(300))
        return MetricsFixture.snapshot([])
      })
    for (wait, expected) in [(0, 1), (699, 1), (1, 2), (699, 2), (1, 3)] {
      clock.advance(.milliseconds(wait))
      _ = await reader.snapshot()
      #expect(calls.withLock { $0 } == expected)
    }
  }

  @Test("While one snapshot is being made, all who ask wait for it and nobody makes another")
  func together() async {
    let (clock, source) = (StandingClock(), Source())
    let reader = MetricsReader(now: { clock.now }, collect: source.collect)
    await withTaskGroup(of: MetricsSnapshot.self) { group in
      for _ in 0..<20 { group.addTask { await reader.snapshot() } }
      await source.end()
      for await snapshot in group { #expect(Self.value(snapshot) == .number(1)) }
    }
    #expect(source.begun == 1)
  }

  @Test("A snapshot of a cancelled caller is given to no other caller")
  func cancelled() async {
    let (clock, source) = (StandingClock(), Source())
    let reader = MetricsReader(now: { clock.now }, collect: source.collect)
    let first = Task { await reader.snapshot() }
    while source.begun == 0, !Task.isCancelled { await Task.yield() }
    let second = Task { await reader.snapshot() }
    first.cancel()
    await source.end()
    #expect(Self.value(await first.value) == .number(1))
    await source.end()
    #expect(Self.value(await second.value) == .number(2))
    #expect(Self.value(await reader.snapshot()) == .number(2))
  }
}
