package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What launches used on one host in a day.
package struct HostUse: Hashable, Sendable {
  package var launches: Int
  /// Summed over all launches: two that run side by side for an hour use two hours.
  package var launchTime: Duration
  package var cpuTime: Duration

  package init(launches: Int = 0, launchTime: Duration = .zero, cpuTime: Duration = .zero) {
    self.launches = launches
    self.launchTime = launchTime
    self.cpuTime = cpuTime
  }
}

/// Counts what launches use, day by day in UTC, for the owner to see. It decides nothing: the allowance that does is
/// the coordinator's. A step of the wall clock over midnight moves what is counted to another day.
///
/// It is told of a launch while it runs, about every ten seconds and when it ends: what was used before midnight is the
/// day's before, and a worker that dies loses a minute of the count.
package struct UseLedger: Sendable {
  private var day: Int64 = 0
  private var use = HostUse()
  /// What has been counted of those that run.
  private var counted: [LaunchKey: (launchTime: Duration, cpuTime: Duration)] = [:]
  private var savedAt: Instant?
  private var isChanged = false

  package init() {}

  /// - Parameters:
  ///   - launchTime: since the launch began.
  ///   - cpuTime: since the launch began; nil if it is not known.
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

  /// Call after the last `count` of a launch.
  package mutating func forget(_ launch: LaunchKey) { counted[launch] = nil }

  package mutating func today(_ date: Timestamp) -> HostUse {
    turn(to: date)
    return use
  }

  private static let dayLength: Int64 = 86_400

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

/// The small file that it survives a restart in.
extension UseLedger {
  private struct Record: Codable {
    var day: Int64
    var launches: Int
    var launchSeconds: StatusSeconds
    var cpuSeconds: StatusSeconds
  }

  /// Takes over what an earlier worker counted.
  /// - Throws: if that cannot be understood; then the count begins anew.
  package init(_ bytes: [UInt8]) throws {
    let record = try JSONDecoder().decode(Record.self, from: Data(bytes))
    day = record.day
    use = HostUse(
      launches: max(0, record.launches), launchTime: max(.zero, record.launchSeconds.duration),
      cpuTime: max(.zero, record.cpuSeconds.duration))
  }

  /// What to write now, at most once a minute; nil if there is nothing new.
  package mutating func due(at now: Instant) -> [UInt8]? {
    guard isChanged, savedAt.map({ now - $0 >= Self.saveInterval }) ?? true else { return nil }
    savedAt = now
    return unsaved()
  }

  private static let saveInterval = Duration.seconds(60)

  /// What to write at the end, whenever the last time was; nil if there is nothing new.
  package mutating func unsaved() -> [UInt8]? {
    guard isChanged else { return nil }
    isChanged = false
    let record = Record(
      day: day, launches: use.launches, launchSeconds: StatusSeconds(use.launchTime),
      cpuSeconds: StatusSeconds(use.cpuTime))
    return (try? JSONEncoder().encode(record)).map { Array($0) }
  }
}
