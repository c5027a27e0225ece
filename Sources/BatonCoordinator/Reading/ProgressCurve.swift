package import BatonModel

/// How a running launch has made progress: at most `most` points. When there are more, every second point is left out,
/// so a curve costs the same however long the launch runs.
package struct ProgressCurve: Hashable, Sendable {
  package struct Point: Hashable, Sendable {
    /// On the wall clock.
    package var at: Timestamp
    /// How many batches the launch has committed since its start, as far as this coordinator has seen.
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
  mutating func add(_ point: Point) {
    guard let last = points.last, points.count > 1, point.at - points[points.count - 2].at < spacing else {
      points.append(point)
      return thin()
    }
    if last != point { points[points.count - 1] = point }
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

extension Dispatcher {
  /// The progress of the launch of a request that runs at this coordinator; `nil` if none does.
  package func curve(of request: RequestID, launch: Int) -> ProgressCurve? {
    let key = LaunchKey(request: request, number: launch)
    return places[key].flatMap { hosts[$0]?.launches[key]?.curve }
  }
}
