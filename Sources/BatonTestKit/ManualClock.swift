import Synchronization

/// A clock that stands still until it is moved: by `advance(by:)`, by a request's `batchDuration`, or, if that was asked
/// for, by whoever sleeps on it.
///
/// Hand it to the code under test in place of `ContinuousClock`. Its instants are those of `ContinuousClock`, so that
/// `task.expiry?.deadline` can be compared with `now`; only their differences mean anything, because every manual clock
/// starts at one instant that was taken when the first was made.
public final class ManualClock: Clock, Sendable {
  public typealias Instant = ContinuousClock.Instant
  public typealias Duration = Swift.Duration

  static let start = ContinuousClock.now

  let sleepsMoveTime: Bool
  let timeline = Mutex(Timeline())

  /// - Parameter sleepsMoveTime: true if a sleep moves the clock to its own end and returns at once, as if nothing else
  ///   happened meanwhile: for code that sleeps one after the other. False if a sleep waits until the clock is moved.
  public init(sleepsMoveTime: Bool = false) { self.sleepsMoveTime = sleepsMoveTime }

  /// Time on the clock since it was made.
  public var elapsed: Duration { timeline.withLock { $0.elapsed } }

  public var now: Instant { Self.start + elapsed }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Moves time on, and does on the way, in the order of their times, what is due: sleepers wake up, launches expire,
  /// deadlines pass. Returns when that is done; woken tasks run on by themselves.
  ///
  /// Called by the handler's own code, such as a fake that takes three seconds, time has passed before the call returns.
  /// Called from outside, step to an expiry before you step over its deadline: in one step the handler has no chance to
  /// act on the expiry in between.
  /// - Parameter duration: zero or longer.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "time does not go back by \(duration)")
    LaunchUnderTest.current?.reachPoint()
    move(to: elapsed + duration)
  }

  /// - Parameter goesOn: asked before each step; false leaves the clock where it is.
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
    // What is due for a launch is decided before those who slept go on.
    for launch in launches { launch.timeReached(now) }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  func add(_ launch: LaunchUnderTest) { timeline.withLock { $0.launches.append(launch) } }

  func remove(_ launch: LaunchUnderTest) { timeline.withLock { $0.launches.removeAll { $0 === launch } } }
}

/// What a manual clock knows.
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

  /// Two who move the clock at the same time never move it back.
  mutating func move(to time: Duration) -> Duration {
    elapsed = max(elapsed, time)
    return elapsed
  }

  /// Takes those out whose time has come, the earliest first.
  mutating func wake() -> [Sleeper] {
    defer { sleepers.removeAll { $0.wakesAt <= elapsed } }
    return sleepers.filter { $0.wakesAt <= elapsed }.sorted { ($0.wakesAt, $0.id) < ($1.wakesAt, $1.id) }
  }
}
