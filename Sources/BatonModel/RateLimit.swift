/// Permits so many events in a second, and a burst of them after a pause (a token bucket).
package struct RateLimit: Hashable, Sendable {
  /// How many events a second are permitted for long.
  package var rate: Double
  /// How many events are permitted at once.
  package var burst: Double

  package init(rate: Double, burst: Double) { (self.rate, self.burst) = (rate, burst) }
}

/// Counts the events of many sources against one limit. It remembers only sources that are not yet back at their full
/// burst, and at most `most` of them.
package struct RateMeter<Source: Hashable & Sendable>: Sendable {
  private struct Level: Sendable {
    var left: Double
    var at: Instant
  }

  package let limit: RateLimit
  private var levels: [Source: Level] = [:]
  /// The most sources that are remembered. If there are more, all new ones share one level.
  package static var most: Int { 10_000 }
  private var others: Level?

  package init(_ limit: RateLimit) { self.limit = limit }

  /// Whether so many events are permitted now. Nothing is taken.
  package mutating func permits(_ source: Source, _ count: Int = 1, at now: Instant) -> Bool {
    level(of: source, at: now).left >= min(Double(count), limit.burst)
  }

  /// Takes events, if they are permitted. A call of more events than the burst is permitted when the level is full, and
  /// the next ones then wait until it has been worked off.
  package mutating func take(_ source: Source, _ count: Int = 1, at now: Instant) -> Bool {
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
