import BatonModel

/// An identifier or wildcard with the place of its declaration.
struct Declaration {
  var pattern: IdentifierPattern
  var position: Position
}

/// Checks definitions against each other, across documents and sources.
enum Declarations {
  /// The place of a declaration.
  private struct Place {
    var source: Int
    /// The number of the declaration among those of all sources, from 0: the smaller number is the earlier declaration.
    var order: Int
    var position: Position
  }

  /// Reports each pattern that is declared twice, and each pair of wildcards that can both match one identifier. The
  /// error stands at the later of the two places, and its message names the earlier one.
  static func check(_ readings: inout [SourceReading]) {
    let (places, repeated) = firstPlaces(in: readings)
    for (pattern, place) in repeated {
      guard let first = places[pattern] else { continue }
      let message = "\(quoted(pattern.rawValue)) is declared twice; the first is at \(text(first, readings))"
      readings[place.source].report.error(message, at: place.position)
    }
    for (inner, outer) in overlaps(in: places) {
      report(inner, outer, places, &readings)
    }
    checkOrder(of: &readings, places)
    checkKeys(of: &readings, places)
  }

  /// Warns of definitions that name the same key with different limits: each limit is for the definition's own
  /// requests.
  private static func checkKeys(of readings: inout [SourceReading], _ places: [IdentifierPattern: Place]) {
    var first: [LimitKey: (setting: LimitSetting, pattern: IdentifierPattern)] = [:]
    for definition in readings.flatMap(\.definitions).map(\.definition) {
      let limits: [(LimitKey, LimitSetting)?] = [
        definition.concurrency.map { (LimitKey(.concurrency, $0.key.text), .concurrency($0.limit)) },
        definition.rate.map { (LimitKey(.rate, $0.key.text), .rate($0.rule)) },
      ]
      for (key, setting) in limits.compactMap(\.self) {
        guard let known = first[key] else {
          first[key] = (setting, definition.pattern)
          continue
        }
        guard known.setting != setting, let place = places[definition.pattern] else { continue }
        readings[place.source].report.warning(
          "\(quoted(definition.pattern.rawValue)) has \(key.kind.rawValue) \(setting.text) for the key "
            + "\(quoted(key.text)), and \(quoted(known.pattern.rawValue)) has \(known.setting.text); each limit is for "
            + "its own requests, and what runs counts for both", at: place.position)
      }
    }
  }

  /// Reports jobs that come after each other in a circle: no flow of them could start.
  private static func checkOrder(of readings: inout [SourceReading], _ places: [IdentifierPattern: Place]) {
    let definitions = readings.flatMap(\.definitions).map(\.definition)
    let positions = Dictionary(definitions.indices.map { (definitions[$0].pattern, $0) }) { first, _ in first }
    let waits = definitions.map { ($0.after ?? []).compactMap { positions[$0.identifier.pattern] } }
    guard case .failure(let circle) = FlowPlan.order(waits), let first = circle.positions.first,
      let place = places[definitions[first].pattern]
    else { return }
    let problem = FlowProblem.cycle(circle.positions.map { definitions[$0].pattern.rawValue })
    readings[place.source].report.error("\(problem)", at: place.position)
  }

  /// The first place of each pattern, and each further declaration of a pattern.
  private static func firstPlaces(
    in readings: [SourceReading]
  ) -> ([IdentifierPattern: Place], [(IdentifierPattern, Place)]) {
    var places: [IdentifierPattern: Place] = [:]
    var repeated: [(IdentifierPattern, Place)] = []
    var order = 0
    for (source, reading) in readings.enumerated() {
      for declaration in reading.declared {
        let place = Place(source: source, order: order, position: declaration.position)
        order += 1
        if places[declaration.pattern] == nil {
          places[declaration.pattern] = place
        } else {
          repeated.append((declaration.pattern, place))
        }
      }
    }
    return (places, repeated)
  }

  /// The pairs of wildcards that overlap. It looks up the prefixes of each wildcard, so that the cost does not grow
  /// with the square of the number of wildcards.
  private static func overlaps(
    in places: [IdentifierPattern: Place]
  ) -> [(inner: IdentifierPattern, outer: IdentifierPattern)] {
    places.keys.filter(\.isWildcard).sorted().flatMap { inner in
      wildcardsAbove(inner).filter { places[$0] != nil }.map { (inner, $0) }
    }
  }

  /// The wildcards that match everything this wildcard matches: `a.*` and `a.b.*` for `a.b.c.*`.
  private static func wildcardsAbove(_ pattern: IdentifierPattern) -> [IdentifierPattern] {
    let parts = pattern.rawValue.split(separator: ".").dropLast()
    return (1..<max(1, parts.count)).compactMap { IdentifierPattern(parts.prefix($0).joined(separator: ".") + ".*") }
  }

  private static func report(
    _ inner: IdentifierPattern, _ outer: IdentifierPattern, _ places: [IdentifierPattern: Place],
    _ readings: inout [SourceReading]
  ) {
    guard let first = places[inner], let second = places[outer] else { return }
    let innerIsLater = first.order > second.order
    let (later, earlier) = innerIsLater ? (first, second) : (second, first)
    let (name, other) = innerIsLater ? (inner, outer) : (outer, inner)
    let message =
      "\(quoted(name.rawValue)) overlaps \(quoted(other.rawValue)) at \(text(earlier, readings)): "
      + "an identifier could match both; narrow one of them"
    readings[later.source].report.error(message, at: later.position)
  }

  private static func text(_ place: Place, _ readings: [SourceReading]) -> String {
    "\(readings[place.source].report.file):\(place.position)"
  }
}
