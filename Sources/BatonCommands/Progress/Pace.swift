import BatonJSON
import BatonModel
import BatonStore

/// How fast a request makes progress, as far as it was watched.
struct Pace: Hashable {
  /// The shortest time of watching from which a rate is told. A shorter time has too few batches.
  static let shortest = Duration.seconds(2)

  private let from: Timestamp
  private let unitsBefore: Int64
  private var lastChange: Timestamp
  private var units: Int64

  init(_ record: RequestRecord, at now: Timestamp) {
    (from, unitsBefore) = (now, record.progress.completedUnits)
    (lastChange, units) = (now, unitsBefore)
  }

  mutating func take(_ record: RequestRecord, at now: Timestamp) {
    guard record.progress.completedUnits != units else { return }
    (lastChange, units) = (now, record.progress.completedUnits)
  }

  /// Units in a second, from the first look to the last change; `nil` while that is not known.
  var rate: Double? {
    let (time, done) = (lastChange - from, units - unitsBefore)
    guard time >= Self.shortest, done > 0 else { return nil }
    return Double(done) / (Double(time.nanoseconds) / 1e9)
  }

  /// The rate and the time that is left in words, such as `12/s, 3m left`.
  func text(_ record: RequestRecord) -> String? {
    guard let rate else { return nil }
    let speed = Self.speed(rate)
    guard let total = record.progress.totalUnits, total > record.progress.completedUnits else { return speed }
    let left = Double(total - record.progress.completedUnits) / rate
    return left < 1e9 ? "\(speed), \(Duration.seconds(Int64(left)).inWords) left" : speed
  }

  /// A rate in words: `12/s`, `3/min`.
  static func speed(_ rate: Double) -> String {
    rate >= 10 ? "\(Int(rate))/s" : rate >= 1 ? "\(Double(Int(rate * 10)) / 10)/s" : slow(rate)
  }

  private static func slow(_ rate: Double) -> String {
    let perMinute = rate * 60
    return perMinute >= 1 ? "\(Int(perMinute))/min" : "\(Int(rate * 3600))/h"
  }
}
