import BatonBase
import BatonJSON
import BatonModel
import BatonStore

/// The rows of `baton list`.
enum RequestTable {
  static let columns: [TablePrinter.Column] = [
    .init("IDENTIFIER"), .init("REQUEST", isNumber: true), .init("STATE"), .init("PROGRESS", isNumber: true),
    .init("LAUNCHES", isNumber: true, rank: 1), .init("HOST", rank: 4), .init("AGE", isNumber: true, rank: 2),
    .init("WHEN", rank: 3), .init("DETAIL"),
  ]

  /// The columns of a wide list, which also has every time as a date.
  static let wideColumns: [TablePrinter.Column] =
    columns.dropLast() + [.init("SUBMITTED"), .init("ELIGIBLE"), .init("STARTED"), .init("ENDED"), .init("DETAIL")]

  static func row(
    _ record: RequestRecord, obstacle: WaitingReason? = nil, isWide: Bool = false, now: Timestamp
  ) -> [Cell] {
    let cells = row(record, obstacle, now)
    guard isWide, let detail = cells.last else { return cells }
    let eligibleAt = record.state == .scheduled && record.eligibleAt != .distantFuture ? record.eligibleAt : nil
    let dates = [record.submittedAt, eligibleAt, record.startedAt, record.endedAt]
    return cells.dropLast() + dates.map { Cell($0?.utc ?? "-") } + [detail]
  }

  private static func row(_ record: RequestRecord, _ obstacle: WaitingReason?, _ now: Timestamp) -> [Cell] {
    [
      Cell(record.identifier.rawValue), Cell(String(record.number)), Cell(record.state.rawValue, record.state.colour),
      Cell(record.progressText), Cell(String(record.launches)),
      Cell(record.shards?.hostsText ?? record.host?.rawValue ?? "-"),
      Cell((now - record.submittedAt).magnitude.inWords), Cell(when(record, now)),
      Cell(detail(record, obstacle, now)),
    ]
  }

  private static func when(_ record: RequestRecord, _ now: Timestamp) -> String {
    switch record.state {
    case .scheduled: record.eligibleAt == .distantFuture ? "-" : record.eligibleAt.relative(to: now)
    case .ready: "-"
    case .running: record.startedAt.map { "since \((now - $0).magnitude.inWords)" } ?? "-"
    case .succeeded, .failed, .cancelled: record.endedAt?.relative(to: now) ?? "-"
    }
  }

  private static func detail(_ record: RequestRecord, _ obstacle: WaitingReason?, _ now: Timestamp) -> String {
    switch record.state {
    case .scheduled: record.waitsBecause?.text ?? ""
    case .ready: [obstacle?.description ?? lastLaunch(record), record.skippedText].words
    case .running, .succeeded:
      [
        record.hostAway?.text(at: now), record.finding, record.skippedText, record.shards?.text,
        record.subtitle ?? record.title,
      ].words
    case .failed: [record.reason?.lastLine, record.skippedText].words
    case .cancelled: record.reason.map { "by \($0)" } ?? ""
    }
  }

  private static func lastLaunch(_ record: RequestRecord) -> String {
    guard record.launches > 0, let outcome = record.outcome else { return "" }
    return "launch \(record.launches): \(outcome)" + (record.reason.map { ", \($0.lastLine)" } ?? "")
  }
}

extension [String?] {
  /// The texts that are there and not empty, separated by semicolons.
  fileprivate var words: String { compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ") }
}
