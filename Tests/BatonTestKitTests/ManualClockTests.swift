import BatonTestKit
import Synchronization
import Testing

@Suite("The manual clock moves only when it is told to", .timeLimit(.minutes(10)))
struct ManualClockTests {
  @Test("it stands still, and goes where it is moved")
  func moves() {
    let clock = ManualClock()
    let start = clock.now
    #expect(clock.elapsed == .zero)
    clock.advance(by: .milliseconds(1_500))
    clock.advance(by: .zero)
    #expect(clock.elapsed == .milliseconds(1_500))
    #expect(start.duration(to: clock.now) == .milliseconds(1_500))
    #expect(ManualClock().now == start, "all start at one instant")
  }

  @Test("a sleeper wakes when the clock gets there, and not before")
  func wakes() async throws {
    let (clock, woken) = (ManualClock(), Notes())
    try await withThrowingTaskGroup { group in
      for seconds in [3, 1, 2] {
        group.addTask {
          try await clock.sleep(for: .seconds(seconds))
          woken.append(seconds)
        }
      }
      try await clock.sleepers(3)
      for expected in 1...3 {
        clock.advance(by: .milliseconds(999))
        #expect(woken.all.count == expected - 1)
        clock.advance(by: .milliseconds(1))
        try await group.next()
        #expect(woken.all == Array(1...expected))
      }
    }
  }

  @Test("a sleep until the past returns at once, unless the task is cancelled")
  func past() async throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(5))
    try await clock.sleep(until: clock.now)
    try await clock.sleep(for: .seconds(-1))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(-1))
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("cancellation ends a sleep, and the sleeper is forgotten")
  func cancellation() async throws {
    let clock = ManualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.sleepers()
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    let another = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    try await another.value
  }

  @Test("a cancellation at any moment ends a sleep once", arguments: 0..<20)
  func race(number: Int) async throws {
    let clock = ManualClock()
    for _ in 0..<100 {
      let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
      async let moved: Void = clock.advance(by: .seconds(number % 2))
      for _ in 0..<number { await Task.yield() }
      sleeper.cancel()
      _ = try? await sleeper.value
      await moved
    }
    #expect(clock.elapsed == .seconds(number % 2 * 100))
  }

  @Test("whoever waits for sleepers can be cancelled")
  func watchers() async throws {
    let clock = ManualClock()
    let watcher = Task { try await clock.sleepers(2) }
    await Task.yield()
    watcher.cancel()
    await #expect(throws: CancellationError.self) { try await watcher.value }
  }

  @Test("with 'sleepsMoveTime' a sleep moves the clock to its end")
  func sleepsMoveTime() async throws {
    let clock = ManualClock(sleepsMoveTime: true)
    try await clock.sleep(for: .seconds(3))
    try await clock.sleep(for: .seconds(4))
    #expect(clock.elapsed == .seconds(7))
  }

  @Test("with 'sleepsMoveTime' an expiry ends a sleep when it is due")
  func expiredSleep() async throws {
    let request = TestRequest("com.example.a", clock: ManualClock(sleepsMoveTime: true))
    let launch = try await request.launch(
      { _ in try await request.clock.sleep(for: .seconds(60)) },
      interruptedBy: .expiry(.thermal, .elapsed(.seconds(10))))
    #expect(launch.outcome == .expired(.thermal))
    #expect(request.clock.elapsed == .seconds(10))
  }

  @Test("it is a clock like any other")
  func isAClock() async throws {
    let clock: any Clock<Duration> = ManualClock(sleepsMoveTime: true)
    try await clock.sleep(for: .seconds(3))
    #expect(ManualClock().measure {} == .zero)
  }
}
