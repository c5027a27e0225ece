import BatonModel
import BatonStore

/// Progress on a terminal: one line per request, drawn over the lines that were drawn before.
struct ProgressBoard {
  /// No drawing sooner than this after the last, unless a state changed.
  static let interval = Duration.milliseconds(100)

  private let style: Style
  private var records: [RequestID: RequestRecord] = [:]
  /// In the order in which they were first seen.
  private var order: [RequestID] = []
  private var drawn: [String] = []
  private var drawnAt: Timestamp?

  init(style: Style) { self.style = style }

  /// Takes the record, and answers what to write now; nil if the last drawing was a moment ago.
  mutating func update(
    _ record: RequestRecord, at now: Timestamp, size: CommandEnvironment.TerminalSize
  ) -> String? {
    let before = records.updateValue(record, forKey: record.id)
    if before == nil { order.append(record.id) }
    if before?.state == record.state, let drawnAt, now - drawnAt < Self.interval { return nil }
    return draw(at: now, size: size)
  }

  /// Forgets a request that is of no interest any more.
  mutating func forget(_ id: RequestID) {
    records[id] = nil
    order.removeAll { $0 == id }
  }

  /// Leaves the line of `record` behind, above the others.
  mutating func settle(
    _ record: RequestRecord, at now: Timestamp, size: CommandEnvironment.TerminalSize
  ) -> String {
    let line = line(record, at: now, nameWidth: record.identifier.rawValue.count, columns: size.columns - 1)
    forget(record.id)
    return erase(size: size) + line + "\n" + draw(at: now, size: size)
  }

  mutating func draw(at now: Timestamp, size: CommandEnvironment.TerminalSize) -> String {
    let lines = lines(at: now, size: size)
    defer { (drawn, drawnAt) = (lines, now) }
    return lines == drawn ? "" : erasure(size) + lines.map { $0 + "\n" }.joined()
  }

  /// Takes the lines away, so that something else can be written there.
  mutating func erase(size: CommandEnvironment.TerminalSize) -> String {
    defer { drawn = [] }
    return erasure(size)
  }

  /// Leaves the lines where they are, for good: what is written next stands below them. The `^C` that the terminal
  /// wrote there goes.
  mutating func leave() -> String {
    defer { drawn = [] }
    return "\r\u{1B}[0J"
  }

  /// The rows that the lines take now: in a window that has become narrower the terminal has wrapped them.
  private func erasure(_ size: CommandEnvironment.TerminalSize) -> String {
    let rows = drawn.reduce(0) { $0 + max(1, ($1.visibleColumns + size.columns - 1) / max(1, size.columns)) }
    return rows == 0 ? "" : "\r\u{1B}[\(rows)A\u{1B}[0J"
  }

  /// Running ones first where there are more than the terminal has rows for.
  private func lines(at now: Timestamp, size: CommandEnvironment.TerminalSize) -> [String] {
    let all = order.compactMap { records[$0] }
    let places = max(1, size.rows - 2)
    let runningFirst = all.filter { $0.state == .running } + all.filter { $0.state != .running }
    let shown = all.count <= places ? all[...] : runningFirst.prefix(places)
    let width = shown.map(\.identifier.rawValue.count).max() ?? 0
    let lines = shown.map { line($0, at: now, nameWidth: min(width, size.columns * 2 / 5), columns: size.columns - 1) }
    return lines + (all.count > places ? ["… and \(all.count - places) more"] : [])
  }

  private func line(_ record: RequestRecord, at now: Timestamp, nameWidth: Int, columns: Int) -> String {
    let name = record.identifier.rawValue.cut(to: nameWidth).padded(to: nameWidth)
    let bar = Self.bar(record.fraction, width: columns < 100 ? 10 : 20)
    let elapsed = record.state == .running ? record.startedAt.map { (now - $0).magnitude.inWords } : nil
    let rest = [record.progressText, elapsed ?? "", record.standing(at: now), record.titles]
      .filter { !$0.isEmpty && $0 != "-" }.joined(separator: "  ")
    let room = columns - nameWidth - bar.count - 4
    return "\(name)  \(style.paint(bar, record.state.colour))  \(rest.cut(to: max(0, room)))"
  }

  private static func bar(_ fraction: Double?, width: Int) -> String {
    let filled = Int((fraction ?? 0) * Double(width))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
  }
}
