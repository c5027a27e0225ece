internal import BatonModel

/// What the spacing of an identifier's first launches depends on: when the last one was, and what the last refreshes
/// found.
struct LaunchHistory: Hashable {
  /// When the last first launch of a refresh, or of a request that a poke asked for, started, on the steady clock;
  /// `nil` if there was none.
  var lastFirstLaunch: Timestamp?
  /// How many refreshes in a row found no new data.
  var noDataInRow = 0
  /// The time between the last two first launches that were not lengthened; `nil` until there were two.
  var usualInterval: Duration?

  /// When the next first launch may start, on the steady clock; `nil` if it is not spaced.
  func spacedUntil(_ definition: Definition, poke: PokePriority?) -> Timestamp? {
    guard let lastFirstLaunch else { return nil }
    return Spacing.ofFirstLaunches(definition, poke: poke, self).map { lastFirstLaunch + $0 }
  }
}

/// The least times between the first launches of successive requests of one identifier (contract, rows 10, 41 and 42).
enum Spacing {
  /// The least time between two first launches; `nil` if they are not spaced. A considerate poke waits for the longer
  /// of its own spacing and the refresh's spacing. An immediate poke waits for neither.
  static func ofFirstLaunches(_ definition: Definition, poke: PokePriority?, _ history: LaunchHistory) -> Duration? {
    let refresh = ofRefreshes(definition, history)
    switch poke {
    case nil: return refresh
    case .considerate: return max(definition.pokeSpacing ?? Definition.defaultPokeSpacing, refresh ?? .zero)
    case .immediate: return nil
    }
  }

  /// The spacing of refreshes: 15 minutes, or `nil` with `allowFrequent`. After two or more refreshes in a row found
  /// nothing, it is a multiple of their interval.
  private static func ofRefreshes(_ definition: Definition, _ history: LaunchHistory) -> Duration? {
    guard definition.kind == .refresh else { return nil }
    let times = patience(noDataInRow: history.noDataInRow)
    guard times > 1 else { return definition.allowFrequent ? nil : Definition.refreshSpacing }
    return interval(definition, history) * times
  }

  /// The interval that is multiplied: the definition's `repeat`, but at least 15 minutes unless `allowFrequent` is set.
  /// A frequent refresh without `repeat` has the interval at which it came last, but at most 15 minutes.
  private static func interval(_ definition: Definition, _ history: LaunchHistory) -> Duration {
    guard definition.allowFrequent else { return max(Definition.refreshSpacing, definition.repeatEvery ?? .zero) }
    return definition.repeatEvery ?? min(Definition.refreshSpacing, history.usualInterval ?? .zero)
  }

  /// How often the interval is multiplied. The first refresh that finds nothing changes nothing, the second one doubles
  /// the interval, and the third one doubles it again; four times is the maximum.
  private static func patience(noDataInRow: Int) -> Int {
    switch noDataInRow {
    case ...1: 1
    case 2: 2
    default: 4
    }
  }
}

/// The begin times of the requests of a repeating definition.
enum Chain {
  /// The first of `anchor`, `anchor + interval`, `anchor + 2 * interval` … that has not come yet, on the anchor's
  /// clock. Times that were missed are skipped, and a request of the chain that starts early does not shift later ones.
  static func next(from anchor: Earliest, every interval: Duration, at now: Moment) -> Earliest {
    guard anchor.hasCome(at: now), interval.nanoseconds > 0 else { return anchor }
    let passed = (anchor.isDated ? now.date : now.steady) - anchor.at
    let (steps, overflow) = (passed.nanoseconds / interval.nanoseconds).addingReportingOverflow(1)
    let (distance, overflow2) = steps.multipliedReportingOverflow(by: interval.nanoseconds)
    return Earliest(
      at: overflow || overflow2 ? .distantFuture : anchor.at + .nanoseconds(distance), isDated: anchor.isDated)
  }
}
