import Synchronization

/// A clock for tests, which stands still until the test moves it.
///
/// ```swift
/// let request = TestRequest(
///   "com.example.import.eu", declaredAs: "com.example.import.*", payload: #"{"pages": 300}"#,
///   clock: ManualClock(sleepsMoveTime: true))
/// let source = FakeSource()
/// try await request.complete(Importer(source: source, clock: request.clock).run)
/// // …
/// #expect(request.clock.elapsed == .seconds(1_500))
/// ```
///
/// Three things move it: `advance(by:)`, each commit of a request that has a `batchDuration`, and each sleep if the
/// clock was made with `sleepsMoveTime: true`. The budget, the closing window and the stalls of a launch under test are
/// measured with it.
///
/// Pass it to the code under test in place of `ContinuousClock`. Code that calls `Task.sleep(for:)` or
/// `ContinuousClock.now` directly still sees real time.
///
/// Its instants have the type of `ContinuousClock`, so that `task.expiry?.deadline` can be compared with the `now` of
/// this clock. Never compare them with `ContinuousClock.now`. All manual clocks of a process start at the same instant,
/// and only differences of instants mean anything.
///
/// The sample is from `Examples/TestKit/ImporterTests.swift`, which also has a test that moves the clock by hand.
public final class ManualClock: Clock, Sendable {
  /// The type of `task.expiry?.deadline`.
  public typealias Instant = ContinuousClock.Instant
  /// Times between two instants.
  public typealias Duration = Swift.Duration

  static let start = ContinuousClock.now

  let sleepsMoveTime: Bool
  let timeline = Mutex(Timeline())

  /// Creates a clock that stands at `elapsed` zero.
  /// - Parameter sleepsMoveTime: `true` if each sleep moves the clock to the end of the sleep and returns at once. This
  ///   suits code that sleeps in one task at a time; with several tasks, a sleep moves the clock past the sleeps of the
  ///   others. `false` if a sleep waits until the clock is moved.
  public init(sleepsMoveTime: Bool = false) { self.sleepsMoveTime = sleepsMoveTime }

  /// The time that has passed on this clock since it was made.
  public var elapsed: Duration { timeline.withLock { $0.elapsed } }

  /// The current time of this clock.
  public var now: Instant { Self.start + elapsed }

  /// The clock can be moved by single nanoseconds.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Moves the clock forward. Everything that becomes due on the way happens in the order of its time: sleepers wake
  /// up, launches expire, deadlines pass.
  ///
  /// The call returns when all of this has happened. The tasks that woke up then run on by themselves.
  ///
  /// A fake calls it to say how long its work takes: the time has passed when the call returns.
  ///
  /// A test calls it while a handler sleeps; call `sleepers(_:)` first. Move the clock to an expiry in one call, and
  /// beyond its deadline in a second one. In a single call the handler gets no chance to act on the expiry before its
  /// deadline passes, and the launch counts as one that ignored its expiry. `Examples/TestKit/ImporterTests.swift` has
  /// a sample.
  /// - Parameter duration: how far to move the clock, zero or longer.
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "time does not go back by \(duration)")
    LaunchUnderTest.current?.reachPoint()
    move(to: elapsed + duration)
  }

  /// Moves the clock to `target`, event by event.
  /// - Parameter goesOn: is called before each step. If it returns `false`, the clock stays where it is.
  func move(to target: Duration, while goesOn: () -> Bool = { true }) {
    while goesOn(), let next = nextEvent(until: target) { reach(next) }
    if goesOn() { reach(target) }
  }

  private func nextEvent(until target: Duration) -> Duration? {
    let (wake, launches) = timeline.withLock { ($0.nextWake, $0.launches) }
    let times = launches.compactMap(\.nextEvent) + [wake].compactMap(\.self)
    return times.min().flatMap { $0 <= target ? $0 : nil }
  }

  private func reach(_ time: Duration) {
    let (now, woken, launches) = timeline.withLock { ($0.move(to: time), $0.wake(), $0.launches) }
    // Launches come first, so that a sleeper that wakes up already sees the expiry that was due at the same time.
    for launch in launches { launch.timeReached(now) }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  func add(_ launch: LaunchUnderTest) { timeline.withLock { $0.launches.append(launch) } }

  func remove(_ launch: LaunchUnderTest) { timeline.withLock { $0.launches.removeAll { $0 === launch } } }
}

/// The state of a manual clock: its time, the launches that are measured with it, and the tasks that wait for it.
struct Timeline {
  struct Sleeper {
    let id: Int
    let wakesAt: Duration
    let continuation: CheckedContinuation<Void, any Error>
  }

  private(set) var elapsed = Duration.zero
  var launches: [LaunchUnderTest] = []
  var sleepers: [Sleeper] = []
  var watchers: [Watcher] = []
  private var lastID = 0

  var nextWake: Duration? { sleepers.map(\.wakesAt).min() }

  mutating func nextID() -> Int {
    lastID += 1
    return lastID
  }

  /// Moves the clock to `time` and returns its new time. If another task has moved it further, it stays there: a clock
  /// never goes back.
  mutating func move(to time: Duration) -> Duration {
    elapsed = max(elapsed, time)
    return elapsed
  }

  /// Removes and returns the sleepers whose time has come, the earliest first.
  mutating func wake() -> [Sleeper] {
    defer { sleepers.removeAll { $0.wakesAt <= elapsed } }
    return sleepers.filter { $0.wakesAt <= elapsed }.sorted { ($0.wakesAt, $0.id) < ($1.wakesAt, $1.id) }
  }
}
