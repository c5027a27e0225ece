import BatonCoordinator
import BatonModel
import BatonStore

/// Writes a list of requests a page at a time, however long it is, in the format that was asked for.
struct RequestListing {
  static let pageSize = 500

  private let console: Console
  private let format: OutputFormat
  private var table: TablePrinter
  private(set) var count = 0

  init(_ console: Console, format: OutputFormat) {
    self.console = console
    self.format = format
    table = TablePrinter(
      RequestTable.columns, style: console.style(of: .output), width: console.outputColumns)
  }

  mutating func page(_ records: [RequestRecord], obstacles: [RequestID: WaitingReason]) {
    defer { count += records.count }
    switch format {
    case .table:
      let now = console.environment.now()
      console.lines(table.page(records.map { RequestTable.row($0, obstacle: obstacles[$0.id], now: now) }))
    case .jsonl: console.lines(records.map { JSONValue($0, obstacle: obstacles[$0.id]).compact })
    case .json:
      for (index, record) in records.enumerated() {
        let text = JSONValue.array([JSONValue(record, obstacle: obstacles[record.id])]).indented
        // The elements of one array that is written piece by piece: without the brackets of each.
        let element = text.dropFirst().dropLast().dropLast()
        console.write((count + index == 0 ? "[" : ",") + element, to: .output)
      }
    }
  }

  func finish() {
    if format == .json { console.output(count == 0 ? "[]" : "\n]") }
    if format == .table, count == 0 { console.note("no requests") }
  }
}

/// Looks up what keeps ready requests from starting: once per definition and priority, because all of one class wait
/// for the same.
struct ObstacleLookup {
  /// Classes that are looked up for one list; beyond that nobody reads them, and each is a question to the coordinator.
  static let limit = 50

  private var known: [RequirementClass: WaitingReason?] = [:]

  mutating func obstacles(
    of records: [RequestRecord], _ api: any OperatorAPI
  ) async throws -> [RequestID: WaitingReason] {
    var found: [RequestID: WaitingReason] = [:]
    for record in records where record.state == .ready {
      let key = RequirementClass(definition: record.definition, priority: record.priority)
      if known[key] == nil, known.count < Self.limit { known[key] = .some(try await Self.reason(record, api)) }
      if let reason = known[key] ?? nil { found[record.id] = reason }
    }
    return found
  }

  private static func reason(_ record: RequestRecord, _ api: any OperatorAPI) async throws -> WaitingReason? {
    do {
      return try await api.explain(record.identifier, number: record.number).foremost.map { WaitingReason($0) }
    } catch OperatorError.notFound {
      return nil  // It was replaced or pruned since it was listed.
    }
  }
}
