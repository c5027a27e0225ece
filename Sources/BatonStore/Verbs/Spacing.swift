internal import BatonModel

/// What first launches of an identifier are spaced by: when the last one was, and what it found.
struct LaunchHistory: Hashable {
  /// On the steady clock; of the last first launch of a refresh, or of a request that a poke asked for.
  var lastFirstLaunch: Timestamp?
  /// Refreshes in a row that found no new data.
  var noDataInRow = 0
  /// Between the last two first launches that were not lengthened; nil until there were two.
  var usualInterval: Duration?

  /// When the next first launch may be, on the steady clock; nil if it is not spaced.
  func spacedUntil(_ definition: Definition, poke: PokePriority?) -> Timestamp? {
    #if PLANTED_BUGS
      if isPlanted(.spacesNothing) { return nil }
    #endif
    guard let lastFirstLaunch else { return nil }
    return Spacing.ofFirstLaunches(definition, poke: poke, self).map { lastFirstLaunch + $0 }
  }
}

/// Least times between the first launches of successive requests of one identifier (contract, rows 10, 41 and 42).
enum Spacing {
  /// Nil if they are not spaced. A poke waits for the longer of its own spacing and the refresh's, an immediate one for
  /// neither.
  static func ofFirstLaunches(_ definition: Definition, poke: PokePriority?, _ history: LaunchHistory) -> Duration? {
    let refresh = ofRefreshes(definition, history)
    switch poke {
    case nil: return refresh
    case .considerate: return max(definition.pokeSpacing ?? Definition.defaultPokeSpacing, refresh ?? .zero)
    case .immediate: return nil
    }
  }

  /// 15 minutes, or nil with `allowFrequent`; once refreshes in a row found nothing, a multiple of their interval.
  private static func ofRefreshes(_ definition: Definition, _ history: LaunchHistory) -> Duration? {
    guard definition.kind == .refresh else { return nil }
    let times = patience(noDataInRow: history.noDataInRow)
    guard times > 1 else { return definition.allowFrequent ? nil : Definition.refreshSpacing }
    return interval(definition, history) * times
  }

  /// What is lengthened: `repeat`, and at least the 15 minutes of a refresh that may not come more often. A frequent one
  /// without `repeat` has the interval at which it came, as far as that is shorter than the 15 minutes.
  private static func interval(_ definition: Definition, _ history: LaunchHistory) -> Duration {
    guard definition.allowFrequent else { return max(Definition.refreshSpacing, definition.repeatEvery ?? .zero) }
    return definition.repeatEvery ?? min(Definition.refreshSpacing, history.usualInterval ?? .zero)
  }

  /// The first refresh that finds nothing changes nothing, the second doubles the interval, the third doubles it again;
  /// four times is the most.
  private static func patience(noDataInRow: Int) -> Int {
    switch noDataInRow {
    case ...1: 1
    case 2: 2
    default: 4
    }
  }
}

/// When the requests of a repeating definition begin.
enum Chain {
  /// The first of `anchor`, `anchor + interval`, `anchor + 2 * interval` … that has not come, on the anchor's clock.
  /// What was missed is not caught up, and a request of the chain that starts early does not shift it.
  static func next(from anchor: Earliest, every interval: Duration, at now: Moment) -> Earliest {
    guard anchor.hasCome(at: now), interval.nanoseconds > 0 else { return anchor }
    let passed = (anchor.isDated ? now.date : now.steady) - anchor.at
    let (steps, overflow) = (passed.nanoseconds / interval.nanoseconds).addingReportingOverflow(1)
    let (distance, overflow2) = steps.multipliedReportingOverflow(by: interval.nanoseconds)
    return Earliest(
      at: overflow || overflow2 ? .distantFuture : anchor.at + .nanoseconds(distance), isDated: anchor.isDated)
  }
}
