import BatonJSON
import BatonModel
import BatonStore
import Synchronization

/// Shows the progress of requests: as a board on a terminal, as lines in a pipe, or as JSON. Calls from several tasks
/// never mix their output.
final class ProgressDisplay: Sendable {
  private enum Form {
    case board(ProgressBoard)
    case lines(ProgressLines)
    case json
    /// Nothing is shown.
    case quiet
    /// A board after `leave()`, which is drawn no more.
    case left
  }

  private let console: Console
  private let stream: CommandEnvironment.Stream
  private let form: Mutex<Form>

  /// - Parameters:
  ///   - stream: standard output if progress is the data of the command, standard error otherwise.
  ///   - isJSON: whether to write every change as one JSON object on a line.
  ///   - isQuiet: whether to show nothing but warnings.
  ///   - isJudged: whether the command calls `Console.judge` at its end, so that no line says why a request failed.
  init(
    _ console: Console, to stream: CommandEnvironment.Stream, isJSON: Bool = false, isQuiet: Bool = false,
    isJudged: Bool = false
  ) {
    self.console = console
    self.stream = stream
    let isTerminal = console.environment.isTerminal(stream) && console.environment.variables["TERM"] != "dumb"
    let board = Form.board(ProgressBoard(style: console.style(of: stream)))
    form = Mutex(isQuiet ? .quiet : isJSON ? .json : isTerminal ? board : .lines(ProgressLines(isJudged: isJudged)))
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
      case .quiet, .left: return nil
      }
    }
  }

  /// Writes lines of data, above the board if there is one.
  func output(_ lines: [String], to stream: CommandEnvironment.Stream) {
    guard !lines.isEmpty else { return }
    let now = console.environment.now()
    form.withLock { form in
      guard case .board(var board) = form else { return console.lines(lines, to: stream) }
      console.write(board.erase(size: size), to: self.stream)
      console.lines(lines, to: stream)
      console.write(board.draw(at: now, size: size), to: self.stream)
      form = .board(board)
    }
  }

  /// Writes a line for people that is not the progress of a request.
  func note(_ text: String) {
    if form.withLock({ if case .quiet = $0 { true } else { false } }) { return }
    onBoard { $0.erase(size: size) }
    console.note(text.onItsLines)
    redraw()
  }

  func warning(_ text: String) {
    onBoard { $0.erase(size: size) }
    console.warning(text)
    redraw()
  }

  /// Shows a request that has ended for the last time: its last line stays above the board.
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

  /// Draws the board again, so that times move and records that were held back become visible.
  func redraw() {
    let now = console.environment.now()
    onBoard { $0.draw(at: now, size: size) }
  }

  /// Ends the drawing and leaves the drawn lines, so that the command can write its last message below them. After
  /// Ctrl-C, call it before anything else is written.
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

  /// Writes while it holds the lock, so that drawings keep their order.
  private func change(_ body: (inout Form) -> String?) {
    form.withLock { form in
      if let text = body(&form) { console.write(text, to: stream) }
    }
  }

  private var size: CommandEnvironment.TerminalSize {
    console.environment.terminalSize() ?? CommandEnvironment.TerminalSize(columns: 80, rows: 24)
  }
}
