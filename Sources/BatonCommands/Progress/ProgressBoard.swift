import BatonJSON
import BatonModel
import BatonStore

/// Draws progress on a terminal: one line for each request, over the lines that were drawn before. Its functions return
/// the text to write, with its control sequences.
struct ProgressBoard {
  /// The shortest time between two drawings, unless the state of a request has changed.
  static let interval = Duration.milliseconds(100)

  private let style: Style
  private var records: [RequestID: RequestRecord] = [:]
  private var paces: [RequestID: Pace] = [:]
  /// The ids of the requests, in the order in which they were first seen.
  private var order: [RequestID] = []
  private var drawn: [String] = []
  private var drawnAt: Timestamp?

  init(style: Style) { self.style = style }

  /// Takes a record, and returns what to write now; `nil` if the last drawing was less than `interval` ago.
  mutating func update(
    _ record: RequestRecord, at now: Timestamp, size: CommandEnvironment.TerminalSize
  ) -> String? {
    let before = records.updateValue(record, forKey: record.id)
    if before == nil { order.append(record.id) }
    if record.state == .running {
      paces[record.id, default: Pace(record, at: now)].take(record, at: now)
    } else {
      paces[record.id] = nil
    }
    if before?.state == record.state, let drawnAt, now - drawnAt < Self.interval { return nil }
    return draw(at: now, size: size)
  }

  /// Forgets a request, so that it is drawn no more.
  mutating func forget(_ id: RequestID) {
    records[id] = nil
    paces[id] = nil
    order.removeAll { $0 == id }
  }

  /// Writes the last line of a request above the others. That line stays, and the request is forgotten.
  mutating func settle(
    _ record: RequestRecord, at now: Timestamp, size: CommandEnvironment.TerminalSize
  ) -> String {
    paces[record.id] = nil
    let line = line(record, at: now, nameWidth: record.identifier.rawValue.count, columns: size.columns - 1)
    forget(record.id)
    return erase(size: size) + line + "\n" + draw(at: now, size: size)
  }

  mutating func draw(at now: Timestamp, size: CommandEnvironment.TerminalSize) -> String {
    let lines = lines(at: now, size: size)
    defer { (drawn, drawnAt) = (lines, now) }
    return lines == drawn ? "" : erasure(size) + lines.map { $0 + "\n" }.joined()
  }

  /// Erases the lines, so that other text can be written in their place.
  mutating func erase(size: CommandEnvironment.TerminalSize) -> String {
    defer { drawn = [] }
    return erasure(size)
  }

  /// Ends the drawing and leaves the lines: what is written next stands below them. It erases the `^C` that the
  /// terminal has written.
  mutating func leave() -> String {
    defer { drawn = [] }
    return "\r\u{1B}[0J"
  }

  /// The text that erases the drawn lines. It counts the rows they take now, because a terminal that has become
  /// narrower has wrapped them.
  private func erasure(_ size: CommandEnvironment.TerminalSize) -> String {
    let rows = drawn.reduce(0) { $0 + max(1, ($1.visibleColumns + size.columns - 1) / max(1, size.columns)) }
    return rows == 0 ? "" : "\r\u{1B}[\(rows)A\u{1B}[0J"
  }

  /// The lines to draw, those of running requests first.
  private func lines(at now: Timestamp, size: CommandEnvironment.TerminalSize) -> [String] {
    let all = order.compactMap { records[$0] }
    let places = max(1, size.rows - 2)
    let runningFirst = all.filter { $0.state == .running } + all.filter { $0.state != .running }
    let shown = runningFirst.prefix(places)
    let width = shown.map(\.identifier.rawValue.count).max() ?? 0
    let lines = shown.map { line($0, at: now, nameWidth: min(width, size.columns * 2 / 5), columns: size.columns - 1) }
    return lines + (all.count > places ? ["… and \(all.count - places) more"] : [])
  }

  private func line(_ record: RequestRecord, at now: Timestamp, nameWidth: Int, columns: Int) -> String {
    let name = record.identifier.rawValue.cut(to: nameWidth).padded(to: nameWidth)
    let bar = Self.bar(record.fraction, width: columns < 100 ? 10 : 20)
    let elapsed = record.state == .running ? record.startedAt.map { (now - $0).magnitude.inWords } : nil
    let rest = [
      record.progressText, paces[record.id]?.text(record) ?? "", elapsed ?? "", record.standing(at: now), record.titles,
    ]
    .filter { !$0.isEmpty && $0 != "-" }.joined(separator: "  ")
    let room = columns - nameWidth - bar.count - 4
    return "\(name)  \(style.paint(bar, record.state.colour))  \(rest.cut(to: max(0, room)))"
  }

  private static func bar(_ fraction: Double?, width: Int) -> String {
    let filled = Int((fraction ?? 0) * Double(width))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
  }
}
