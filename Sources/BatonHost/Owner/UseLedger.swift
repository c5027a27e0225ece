import BatonBase
package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the launches of a day have used on one host.
package struct HostUse: Hashable, Sendable {
  package var launches = 0
  /// The sum over all launches: two launches that run side by side for an hour use two hours.
  package var launchTime = Duration.zero
  package var cpuTime = Duration.zero
}

/// Counts what launches use on each day in UTC, to show it to the host's owner. The counts decide nothing: the
/// coordinator applies the daily allowance with its own counts. If the wall clock is set over midnight, the use counts
/// for another day.
///
/// The worker counts a running launch about every ten seconds, and when it ends. Use before midnight therefore counts
/// for the previous day. A worker that dies loses at most a minute of the counts.
package struct UseLedger: Sendable {
  private var day: Int64 = 0
  private var use = HostUse()
  /// What has been counted so far of each running launch.
  private var counted: [LaunchKey: (launchTime: Duration, cpuTime: Duration)] = [:]
  /// The launches that have ended since the last `due`. Their counts are kept until then, because a caller that listed
  /// the running launches before an end may count the launch once more after it.
  private var ended: Set<LaunchKey> = []
  private var savedAt: Instant?
  private var isChanged = false

  package init() {}

  /// Counts what a launch has used since its last count.
  /// - Parameters:
  ///   - launchTime: the time since the launch began.
  ///   - cpuTime: the processor time since the launch began; `nil` if it is not known.
  ///   - date: the wall clock, which decides on which day the use counts.
  package mutating func count(_ launch: LaunchKey, launchTime: Duration, cpuTime: Duration?, on date: Timestamp) {
    turn(to: date)
    let before = counted[launch]
    if before == nil { use.launches += 1 }
    let (oldTime, oldCPU) = before ?? (.zero, .zero)
    let (newTime, newCPU) = (max(launchTime, oldTime), max(cpuTime ?? oldCPU, oldCPU))
    use.launchTime += min(newTime - oldTime, sinceMidnight(date))
    use.cpuTime += newCPU - oldCPU
    counted[launch] = (newTime, newCPU)
    isChanged = true
  }

  /// Notes that a launch has ended. Call it after the last `count` with the launch's final use.
  package mutating func end(_ launch: LaunchKey) { ended.insert(launch) }

  package mutating func today(_ date: Timestamp) -> HostUse {
    turn(to: date)
    return use
  }

  private static let dayLength: Int64 = 86_400

  /// Starts the counts at zero when a new day has begun.
  private mutating func turn(to date: Timestamp) {
    let today =
      (date.wholeSeconds - (date.wholeSeconds % Self.dayLength + Self.dayLength) % Self.dayLength)
      / Self.dayLength
    guard today != day else { return }
    day = today
    use = HostUse()
  }

  private func sinceMidnight(_ date: Timestamp) -> Duration {
    date - Timestamp(nanoseconds: day * Self.dayLength * 1_000_000_000)
  }
}

/// The stored form of the ledger, with which the counts of a day survive a restart.
extension UseLedger {
  private struct Record: Codable {
    var day: Int64
    var launches: Int
    var launchSeconds: StatusSeconds
    var cpuSeconds: StatusSeconds
  }

  /// Takes over the counts of an earlier worker.
  /// - Throws: if the bytes are not a stored ledger. The caller then starts from zero.
  package init(_ bytes: [UInt8]) throws {
    let record = try JSONDecoder().decode(Record.self, from: Data(bytes))
    day = record.day
    use = HostUse(
      launches: max(0, record.launches), launchTime: max(.zero, record.launchSeconds.duration),
      cpuTime: max(.zero, record.cpuSeconds.duration))
  }

  /// The bytes to write now. `nil` if there is nothing new, or the last write was less than a minute ago. Call it after
  /// each round in which the running launches were counted: it forgets the launches that have ended.
  package mutating func due(at now: Instant) -> [UInt8]? {
    for launch in ended { counted[launch] = nil }
    ended = []
    guard isChanged, savedAt.map({ now - $0 >= Self.saveInterval }) ?? true else { return nil }
    savedAt = now
    return unsaved()
  }

  private static let saveInterval = Duration.seconds(60)

  /// The bytes to write when the worker ends. `nil` if there is nothing new.
  package mutating func unsaved() -> [UInt8]? {
    guard isChanged else { return nil }
    isChanged = false
    let record = Record(
      day: day, launches: use.launches, launchSeconds: StatusSeconds(use.launchTime),
      cpuSeconds: StatusSeconds(use.cpuTime))
    return (try? JSONEncoder().encode(record)).map { Array($0) }
  }
}
