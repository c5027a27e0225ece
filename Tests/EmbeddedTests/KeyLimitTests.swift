import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator

/// Limits by key, on a coordinator and a worker whose clocks stand still until a test moves them.
@Suite("Limits by key", .timeLimit(.minutes(10)))
struct KeyLimitTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  private static func job(_ pattern: String, _ change: (inout Definition) -> Void) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: .processing)
    definition.requirements.requiresIdle = false
    change(&definition)
    return definition
  }

  @Test("A request that a rate keeps starts when its time has come, and nothing but time is needed")
  func rate() async throws {
    let time = ManualTime()
    let starts = Mutex<[Timestamp]>([])
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    try await fleet.run([fleet.worker("one", folder: folder, [("com.example.*", { _ in })])]) {
      let rule = StartRate(limit: 6, per: .seconds(60))
      _ = try await fleet.coordinator.apply([
        Self.job("com.example.*") { $0.rate = RateLimitByKey(key: KeyTemplate("api"), rule: rule) }
      ])
      let names = ["a", "b", "c"].map { "com.example.\($0)" }
      for name in names { try await fleet.submit(name) }
      // Each step of the clock waits for the store, so that the clock does not run ahead of the coordinator.
      while starts.withLock({ $0.count }) < 3 {
        await time.pass(.milliseconds(100))
        var found: [Timestamp] = []
        for name in names {
          let details = try await fleet.coordinator.details(JobIdentifier(name)!, number: 1)
          found += details.launches.map(\.startedAt)
        }
        starts.withLock { $0 = found.sorted() }
      }
    }
    let all = starts.withLock { $0 }
    #expect(all.count == 3 && all[1] - all[0] >= .seconds(10) && all[2] - all[1] >= .seconds(10), "\(all)")
    // If the clock of the rate were not looked at, each would wait a minute for the next look at those that were
    // called.
    #expect(all[2] - all[0] < .seconds(100), "\(all)")
  }

  @Test("Launches of two definitions with one key do not run at the same time, and the explanation says so")
  func concurrency() async throws {
    let time = ManualTime()
    let running = Mutex(0)
    let most = Mutex(0)
    let goesOn = Mutex(false)
    let handler: Handler = { _ in
      let now = running.withLock {
        $0 += 1
        return $0
      }
      most.withLock { $0 = max($0, now) }
      while !goesOn.withLock({ $0 }) { await Task.yield() }
      running.withLock { $0 -= 1 }
    }
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    try await fleet.run([fleet.worker("one", folder: folder, [("com.example.*", handler)])]) {
      let limit = ConcurrencyLimit(key: KeyTemplate("customer/${wildcard}"), limit: 1)
      _ = try await fleet.coordinator.apply([
        Self.job("com.example.in.*") { $0.concurrency = limit },
        Self.job("com.example.out.*") { $0.concurrency = limit },
      ])
      let names = ["com.example.in.acme", "com.example.out.acme"]
      for name in names { try await fleet.submit(name) }
      while running.withLock({ $0 }) == 0 { await time.pass(.milliseconds(100)) }
      await time.pass(.seconds(1))
      var waiting: [Explanation] = []
      for name in names {
        let explained = try await fleet.coordinator.explain(JobIdentifier(name)!, number: nil)
        if explained.record.state == .scheduled { waiting.append(explained) }
      }
      #expect(waiting.map { $0.lines.first?.code } == ["limitReached"])
      #expect(
        waiting.first?.lines.first?.text == "it is number 1 in line for customer/acme, 1 of 1 run")
      let limits = try await fleet.coordinator.limits(beginningWith: "", after: nil, limit: 9)
      #expect(limits.map(\.running) == [1] && limits.map(\.waiting) == [1])
      goesOn.withLock { $0 = true }
      for name in names {
        while try await fleet.coordinator.details(JobIdentifier(name)!, number: 1).record.state != .succeeded {
          await time.pass(.milliseconds(100))
        }
      }
    }
    #expect(most.withLock { $0 } == 1)
  }
}
