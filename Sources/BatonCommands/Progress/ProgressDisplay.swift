import BatonModel
import BatonStore
import Synchronization

/// Shows how requests go on: a board on a terminal, lines in a pipe, or JSON.
final class ProgressDisplay: Sendable {
  private enum Form {
    case board(ProgressBoard)
    case lines(ProgressLines)
    case json
    /// A board that is not drawn any more.
    case left
  }

  private let console: Console
  private let stream: CommandEnvironment.Stream
  private let form: Mutex<Form>

  /// - Parameters:
  ///   - stream: standard error where progress is beside the point, standard output where it is the data.
  ///   - isJSON: writes every change as one JSON object in a line.
  init(_ console: Console, to stream: CommandEnvironment.Stream, isJSON: Bool = false) {
    self.console = console
    self.stream = stream
    let isTerminal = console.environment.isTerminal(stream) && console.environment.variables["TERM"] != "dumb"
    let board = Form.board(ProgressBoard(style: console.style(of: stream)))
    form = Mutex(isJSON ? .json : isTerminal ? board : .lines(ProgressLines()))
  }

  func update(_ record: RequestRecord) {
    let now = console.environment.now()
    change { form in
      switch form {
      case .board(var board):
        defer { form = .board(board) }
        return board.update(record, at: now, size: size)
      case .lines(var lines):
        defer { form = .lines(lines) }
        return lines.line(for: record, at: now).map { $0 + "\n" }
      case .json: return JSONValue(record).compact + "\n"
      case .left: return nil
      }
    }
  }

  /// A line for people that is no progress.
  func note(_ text: String) {
    onBoard { $0.erase(size: size) }
    console.note(text.onItsLines)
    redraw()
  }

  func warning(_ text: String) {
    onBoard { $0.erase(size: size) }
    console.warning(text)
    redraw()
  }

  /// A request that has ended and is not drawn again: its last line stays.
  func settle(_ record: RequestRecord) {
    update(record)
    onBoard { $0.settle(record, at: console.environment.now(), size: size) }
  }

  func forget(_ record: RequestRecord) {
    onBoard { board in
      board.forget(record.id)
      return ""
    }
  }

  /// Draws the board anew, so that times move and nothing that was held back stays hidden.
  func redraw() {
    let now = console.environment.now()
    onBoard { $0.draw(at: now, size: size) }
  }

  /// Ends the drawing and leaves what was drawn, so that the command can say its last words below it. Call it when
  /// Ctrl-C was pressed, before anything else is written.
  func leave() {
    onBoard { $0.leave() }
    change { form in
      if case .board = form { form = .left }
      return nil
    }
  }

  private func onBoard(_ body: (inout ProgressBoard) -> String) {
    change { form in
      guard case .board(var board) = form else { return nil }
      defer { form = .board(board) }
      return body(&board)
    }
  }

  /// Writes inside the lock, so that drawings do not overtake each other.
  private func change(_ body: (inout Form) -> String?) {
    form.withLock { form in
      if let text = body(&form) { console.write(text, to: stream) }
    }
  }

  private var size: CommandEnvironment.TerminalSize {
    console.environment.terminalSize() ?? CommandEnvironment.TerminalSize(columns: 80, rows: 24)
  }
}
