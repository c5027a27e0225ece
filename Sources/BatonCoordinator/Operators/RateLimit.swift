import BatonBase
import BatonModel
import Synchronization

/// Permits so many events in a second, and a burst of them after a pause (a token bucket).
struct RateLimit: Hashable, Sendable {
  /// How many events a second are permitted for long.
  var rate: Double
  /// How many events are permitted at once.
  var burst: Double
}

/// Counts the events of many sources against one limit. It remembers only sources that are not yet back at their full
/// burst, and at most `most` of them.
struct RateMeter<Source: Hashable & Sendable>: Sendable {
  private struct Level: Sendable {
    var left: Double
    var at: Instant
  }

  let limit: RateLimit
  private var levels: [Source: Level] = [:]
  /// The most sources that are remembered. If there are more, all new ones share one level.
  static var most: Int { 10_000 }
  private var others: Level?

  init(_ limit: RateLimit) { self.limit = limit }

  /// Whether so many events are permitted now. Nothing is taken.
  mutating func permits(_ source: Source, _ count: Int = 1, at now: Instant) -> Bool {
    level(of: source, at: now).left >= min(Double(count), limit.burst)
  }

  /// Takes events, if they are permitted. A call of more events than the burst is permitted when the level is full, and
  /// the next ones then wait until it has been worked off.
  mutating func take(_ source: Source, _ count: Int = 1, at now: Instant) -> Bool {
    var level = level(of: source, at: now)
    guard level.left >= min(Double(count), limit.burst) else { return false }
    level.left -= Double(count)
    if levels[source] == nil, levels.count >= Self.most { forget(at: now) }
    if levels[source] == nil, levels.count >= Self.most { others = level } else { levels[source] = level }
    return true
  }

  private func level(of source: Source, at now: Instant) -> Level {
    guard let known = levels[source] ?? (levels.count >= Self.most ? others : nil) else {
      return Level(left: limit.burst, at: now)
    }
    return Level(left: refilled(known, at: now), at: now)
  }

  private func refilled(_ level: Level, at now: Instant) -> Double {
    let seconds = Double((now - level.at).nanoseconds) / 1e9
    return min(limit.burst, level.left + max(0, seconds) * limit.rate)
  }

  /// Forgets the sources that are back at their full burst.
  private mutating func forget(at now: Instant) {
    levels = levels.filter { refilled($0.value, at: now) < limit.burst }
  }
}

/// How much one caller may ask for. Every number is a key of `coordinator.yaml`.
package struct CallRates: Hashable, Sendable {
  /// Submissions of one credential in a second; the burst is five times as much.
  package var submissions = 200
  /// Calls of one credential that change something, in a second; the burst is twice as much.
  package var changes = 20
  /// Wrong credentials from one address in a minute.
  package var failures = 10
  /// Attempts to join from one address in a minute that are refused.
  package var joins = 5

  package init() {}
}

/// Counts what callers do against the limits of `CallRates`.
final class CallMeter: Sendable {
  private struct Meters: Sendable {
    var changes: RateMeter<[UInt8]>
    var submissions: RateMeter<[UInt8]>
    var failures: RateMeter<String>
    var joins: RateMeter<String>
  }

  private let meters: Mutex<Meters>
  private let clocks: Clocks

  init(_ rates: CallRates, _ clocks: Clocks) {
    self.clocks = clocks
    func limit(_ count: Int, each seconds: Int, burst: Int) -> RateLimit {
      RateLimit(rate: Double(count) / Double(seconds), burst: Double(burst))
    }
    meters = Mutex(
      Meters(
        changes: RateMeter(limit(rates.changes, each: 1, burst: 2 * rates.changes)),
        submissions: RateMeter(limit(rates.submissions, each: 1, burst: 5 * rates.submissions)),
        failures: RateMeter(limit(rates.failures, each: 60, burst: rates.failures)),
        joins: RateMeter(limit(rates.joins, each: 60, burst: rates.joins))))
  }

  private var now: Instant { clocks.now().instant }

  func takeChange(of credential: [UInt8]) -> Bool { meters.withLock { $0.changes.take(credential, at: now) } }

  func takeSubmissions(_ count: Int, of credential: [UInt8]) -> Bool {
    meters.withLock { $0.submissions.take(credential, count, at: now) }
  }

  func permitsFailure(from address: String) -> Bool { meters.withLock { $0.failures.permits(address, at: now) } }

  func noteFailure(from address: String) { meters.withLock { _ = $0.failures.take(address, at: now) } }

  func permitsJoin(from address: String) -> Bool { meters.withLock { $0.joins.permits(address, at: now) } }

  func noteFailedJoin(from address: String) { meters.withLock { _ = $0.joins.take(address, at: now) } }
}
