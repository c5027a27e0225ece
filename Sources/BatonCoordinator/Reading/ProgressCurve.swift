package import BatonModel

/// How a running request has made progress: at most `most` points. When there are more, every second point is left out,
/// so a curve costs the same however long the request runs.
package struct ProgressCurve: Hashable, Sendable {
  package struct Point: Hashable, Sendable {
    /// On the wall clock.
    package var at: Timestamp
    /// How many batches were committed since the curve began, by all launches of the request.
    package var batches: Int
    /// How many units of the request are done.
    package var units: Int64

    package init(at: Timestamp, batches: Int, units: Int64) {
      (self.at, self.batches, self.units) = (at, batches, units)
    }
  }

  /// The most points of a curve.
  package static let most = 60
  /// The rate is that of the last part of a curve, so that it follows a launch that has become slower.
  private static let recent = 20

  package private(set) var points: [Point] = []
  /// The least time from one point to the next.
  private var spacing = Duration.milliseconds(100)

  package init() {}
  package init(points: [Point]) { self.points = points }

  /// Adds a point. A point that comes before its time takes the place of the last one, so the last point is always the
  /// present state.
  package mutating func add(_ point: Point) {
    guard let last = points.last, points.count > 1, point.at - points[points.count - 2].at < spacing else {
      points.append(point)
      return thin()
    }
    if last != point { points[points.count - 1] = point }
  }

  /// Adds a point that is this much further than the last one.
  mutating func add(batches: Int, units: Int64, at date: Timestamp) {
    let last = points.last
    let sum = (last?.units ?? 0) + units
    // A worker may report any units, and may take them back: the sum of many launches stays within these bounds.
    add(Point(at: date, batches: (last?.batches ?? 0) + batches, units: min(max(sum, -Self.farthest), Self.farthest)))
  }

  private static let farthest = Int64(1) << 60

  /// The same curve, so that its last point has this number of units.
  package func ending(at units: Int64) -> ProgressCurve {
    let shift = units - (points.last?.units ?? 0)
    var curve = self
    for index in points.indices { curve.points[index].units = max(0, points[index].units + shift) }
    return curve
  }

  private mutating func thin() {
    guard points.count > Self.most, let first = points.first, let last = points.last else { return }
    points = points.enumerated().filter { $0.offset % 2 == 0 || $0.offset == points.count - 1 }.map(\.element)
    spacing = max(spacing * 2, (last.at - first.at) / Self.most)
  }

  /// Units in a second over the last points; `nil` while that is not known.
  package var rate: Double? {
    let part = points.suffix(Self.recent)
    guard let first = part.first, let last = part.last else { return nil }
    let (time, done) = (last.at - first.at, last.units - first.units)
    guard time >= .seconds(2), done > 0 else { return nil }
    return Double(done) / (Double(time.nanoseconds) / 1e9)
  }

  /// How long the rest takes at this rate; `nil` while that is not known.
  package func timeLeft(of total: Int64?) -> Duration? {
    guard let rate, let total, let last = points.last, total >= last.units else { return nil }
    let seconds = Double(total - last.units) / rate
    return seconds < 1e9 ? .seconds(Int64(seconds)) : nil
  }
}

/// A request of which at least one launch runs: its own, or those of its shards.
struct ActiveRequest: Sendable {
  var launches: Set<LaunchKey> = []
  /// How the request has made progress since the first of these launches, as far as this coordinator saw it. The units
  /// are counted from the beginning of the curve.
  var curve: ProgressCurve
}

extension Dispatcher {
  /// The progress of a request since the first of its launches that run; `nil` if none runs, or if another coordinator
  /// serves one of their hosts, because this one sees only a part of the progress then.
  /// - Parameter units: how many units of the request are done, which is where the curve ends.
  package func curve(of request: RequestID, units: Int64) -> ProgressCurve? {
    guard let active = active[request] else { return nil }
    let isServedHere = active.launches.allSatisfy { launch in
      places[launch].flatMap { hosts[$0] }.map { $0.lease != .elsewhere } ?? false
    }
    return isServedHere ? active.curve.ending(at: units) : nil
  }
}
