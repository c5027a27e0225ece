import BatonModel

/// How long launches are expected to take. The expectations decide only which host a booking takes, and which launches
/// may use what is booked: if they are wrong, a request waits longer than it was told, and nothing else happens.
extension Dispatcher {
  /// How long a launch of unknown pace is expected to take. A launch that has run for longer than half of it is
  /// expected to run as long again as it has run.
  static let unknownDuration = Duration.seconds(600)

  /// How long a launch that starts now is expected to take: as long as the longest of the last launches of its
  /// definition, and at most its budget.
  func expectedDuration(of definition: Definition) -> Duration {
    let usual = runs[definition.pattern]?.longest ?? Self.unknownDuration
    return min(usual, definition.budget(keepsCursor: true) ?? usual)
  }

  /// How much longer a running launch is expected to take.
  func expectedRest(of running: RunningState) -> Duration {
    guard let definition = definitions[running.requirementClass.definition] else { return Self.unknownDuration }
    if let reason = running.expiring { return reason.closingWindow(of: definition) }
    let elapsed = max(.zero, now.steady - running.startedSteady)
    let rest = running.restByPace(after: elapsed) ?? restByHabit(of: definition, after: elapsed)
    guard let budget = definition.budget(keepsCursor: running.keepsCursor) else { return rest }
    return min(rest, max(.zero, budget - elapsed))
  }

  private func restByHabit(of definition: Definition, after elapsed: Duration) -> Duration {
    let usual = runs[definition.pattern]?.longest
    // One that takes longer than usual is expected to run as long again.
    if let usual { return usual > elapsed ? usual - elapsed : elapsed }
    return max(Self.unknownDuration - elapsed, elapsed)
  }

  /// Learns from a launch that has ended by itself.
  mutating func learnDuration(of running: RunningState) {
    guard running.expiring == nil, let pattern = definitions[running.requirementClass.definition]?.pattern else {
      return
    }
    runs[pattern, default: RunLengths()].add(now.steady - running.startedSteady)
  }
}

/// How long the last launches of a definition took.
struct RunLengths: Sendable {
  private var last: [Duration] = []
  private var count = 0

  /// How many launches are kept.
  static let capacity = 8

  /// The longest of them, because a launch that is expected to end in time has to do so usually.
  private(set) var longest: Duration?

  mutating func add(_ duration: Duration) {
    if last.count < Self.capacity { last.append(duration) } else { last[count % Self.capacity] = duration }
    count += 1
    longest = last.max()
  }
}

extension RunningState {
  /// How much longer the launch takes if it goes on at the pace of its units; nil if it has shown no pace.
  fileprivate func restByPace(after elapsed: Duration) -> Duration? {
    guard let completedUnits, let totalUnits, totalUnits > 0, completedUnits > startUnits else { return nil }
    let share = Double(max(0, totalUnits - completedUnits)) / Double(completedUnits - startUnits)
    return .seconds(min(elapsed.inSeconds * share, 1e9))
  }
}
