import BatonJSON
import BatonModel
import BatonStore

/// Progress for a pipe: a line when the state or the launch changes, and a line for each 10 % (while the total is
/// unknown, each time that the completed units have doubled).
struct ProgressLines {
  private struct Told: Hashable {
    var state: RequestState
    var launches: Int
    var step: Int
    var isAway: Bool
  }

  /// Whether the command says itself, at its end, which requests have failed and why. Then no line says it too.
  private let isJudged: Bool
  private var told: [RequestID: Told] = [:]

  init(isJudged: Bool = false) { self.isJudged = isJudged }

  /// The line for this change of a request; `nil` if the change deserves no line.
  mutating func line(for record: RequestRecord, at now: Timestamp) -> String? {
    // A request with shards has launches all the time.
    let launches = record.shards == nil ? record.launches : 0
    let current = Told(
      state: record.state, launches: launches, step: Self.step(of: record), isAway: record.hostAway != nil)
    let before = told.updateValue(current, forKey: record.id)
    guard before != current, !(isJudged && record.state == .failed) else { return nil }
    if let before, before.state == current.state, before.launches == current.launches,
      before.isAway == current.isAway
    {
      guard current.step > before.step else { return nil }
      return "\(record.name): \(Self.progress(of: record))"
    }
    return "\(record.name): \(Self.standing(of: record, at: now))"
  }

  private static func standing(of record: RequestRecord, at now: Timestamp) -> String {
    let units = record.progress.completedUnits > 0 && !record.state.isEnded ? " (\(progress(of: record)))" : ""
    return record.standing(at: now) + units
  }

  private static func progress(of record: RequestRecord) -> String {
    (record.percent.map { "\($0) %, " } ?? "") + "\(record.unitsText) done"
  }

  private static func step(of record: RequestRecord) -> Int {
    if let percent = record.percent { return percent / 10 }
    return Int64.bitWidth - max(0, record.progress.completedUnits).leadingZeroBitCount
  }
}
