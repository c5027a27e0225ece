import BatonModel
import Foundation

extension ZoneOffsets {
  /// The offsets of a zone of the tz database; `nil` if this machine does not have it.
  static func named(_ name: String) -> ZoneOffsets? {
    guard name != "UTC" else { return .utc }
    guard let zone = TimeZone(identifier: name) else { return nil }
    return ZoneOffsets { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0))) }
  }

  /// A zone whose clocks change at some instants, from one offset to the next.
  static func changing(at changes: [Int64], _ offsets: [Int]) -> ZoneOffsets {
    ZoneOffsets { instant in offsets[changes.firstIndex { instant < $0 } ?? changes.count] }
  }

  /// The instants in a span at which the offset changes, found in steps of two days.
  func changes(from start: Int64, to end: Int64) -> [Int64] {
    let step: Int64 = 2 * 86_400
    var (instant, last) = (start, offset(start))
    var changes: [Int64] = []
    while instant < end {
      let next = offset(instant + step)
      if next != last { changes.append(change(from: instant, to: instant + step)) }
      (instant, last) = (instant + step, next)
    }
    return changes
  }

  private func change(from start: Int64, to end: Int64) -> Int64 {
    var (unchanged, changed) = (start, end)
    while changed - unchanged > 1 {
      let middle = (unchanged + changed) / 2
      if offset(middle) == offset(start) { unchanged = middle } else { changed = middle }
    }
    return changed
  }
}

extension Timestamp {
  init(seconds: Int64) { self.init(nanoseconds: seconds * 1_000_000_000) }

  var seconds: Int64 { nanoseconds / 1_000_000_000 }

  /// A time such as `2026-03-29T03:00+02:00` or `2026-03-01T00:00:59Z`.
  init?(local text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 17, let date = CivilDate(String(text.prefix(10))) else { return nil }
    let hasSeconds = bytes[16] == UInt8(ascii: ":")
    let clock = text.dropFirst(11).prefix(hasSeconds ? 8 : 5).split(separator: ":").compactMap { Int64($0) }
    let zone = text.dropFirst(hasSeconds ? 19 : 16)
    let offset = zone.dropFirst().split(separator: ":").compactMap { Int64($0) }
    guard clock.count >= 2, zone == "Z" || offset.count == 2 else { return nil }
    let ahead = zone == "Z" ? 0 : (offset[0] * 3_600 + offset[1] * 60) * (zone.hasPrefix("-") ? -1 : 1)
    let second = clock[0] * 3_600 + clock[1] * 60 + (hasSeconds ? clock[2] : 0)
    self.init(seconds: Int64(date.daysSince1970) * 86_400 + second - ahead)
  }
}

/// Random expressions, of all forms that fields have.
struct RandomExpressions {
  var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

  mutating func isDrawn(oneIn count: Int) -> Bool { number(1...count) == 1 }

  /// An expression that matches at some time.
  mutating func expression() -> CronExpression {
    while true {
      let stars = number(2...8)
      let fields = CronField.allCases.map { field in number(0...9) < stars ? "*" : list(field) }
      // The text has the right form. It is refused only for days such as 30 February.
      if let expression = try? CronExpression(fields.joined(separator: " ")) { return expression }
    }
  }

  private mutating func list(_ field: CronField) -> String {
    (0..<number(1...2)).map { _ in item(field) }.joined(separator: ",")
  }

  private mutating func item(_ field: CronField) -> String {
    let ends = [number(field.range), number(field.range)].sorted()
    switch number(0...9) {
    case 0 where field == .dayOfMonth: return "L"
    case 0 where field == .dayOfWeek: return "L\(ends[0])"
    case 1 where field == .dayOfWeek: return "\(ends[0])#\(number(1...5))"
    case 0...4: return "\(ends[0])"
    case 5: return "\(ends[0])-\(ends[1])"
    case 6: return "\(ends[0])-\(ends[1])/\(number(1...9))"
    case 7: return "\(ends[0])/\(number(1...30))"
    default: return "*/\(number(2...30))"
    }
  }
}
