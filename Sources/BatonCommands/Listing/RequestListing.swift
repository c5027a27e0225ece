import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Writes a list of requests in the format that was asked for. It writes a page at a time, so that a list of any length
/// needs the memory of one page.
struct RequestListing {
  static let pageSize = 500

  private let console: Console
  private let format: OutputFormat
  private var table: TablePrinter
  private(set) var count = 0
  /// The identifiers that were written in the format `name`.
  private var named: Set<JobIdentifier> = []

  init(_ console: Console, format: OutputFormat) {
    self.console = console
    self.format = format
    table = TablePrinter(
      format == .wide ? RequestTable.wideColumns : RequestTable.columns, style: console.style(of: .output),
      width: format == .wide ? nil : console.outputColumns)
  }

  mutating func page(_ records: [RequestRecord], obstacles: [RequestID: WaitingReason]) {
    defer { count += records.count }
    switch format {
    case .table, .wide:
      let now = console.environment.now()
      console.lines(
        table.page(records.map { RequestTable.row($0, obstacle: obstacles[$0.id], isWide: format == .wide, now: now) }))
    case .jsonl: console.lines(records.map { JSONValue($0, obstacle: obstacles[$0.id]).compact })
    case .name:
      for record in records where named.insert(record.identifier).inserted {
        console.output(record.identifier.rawValue)
      }
    case .yaml:
      guard !records.isEmpty else { return }
      console.write(
        JSONValue.array(records.map { JSONValue($0, obstacle: obstacles[$0.id]) }).yaml, to: .output)
    case .json:
      for (index, record) in records.enumerated() {
        let text = JSONValue.array([JSONValue(record, obstacle: obstacles[record.id])]).indented
        // All pages are elements of one array, so the brackets of this array are cut off.
        let element = text.dropFirst().dropLast().dropLast()
        console.write((count + index == 0 ? "[" : ",") + element, to: .output)
      }
    }
  }

  /// - Parameter nothing: what people are told of an empty list; `nil` stands for `no requests`.
  func finish(nothing: String? = nil) {
    if format == .json { console.output(count == 0 ? "[]" : "\n]") }
    if format == .yaml, count == 0 { console.output("[]") }
    if format.isTable, count == 0 { console.note(nothing ?? "no requests") }
  }
}
