import BatonJSON
import BatonModel

/// What a command writes to: data goes to standard output, everything else to standard error.
struct Console: Sendable {
  let environment: CommandEnvironment

  /// The console of the command that runs in this task.
  static var current: Console { Console(environment: .current) }

  func style(of stream: CommandEnvironment.Stream) -> Style {
    switch environment.colour {
    case .always: return Style(isColoured: true)
    case .never: return Style(isColoured: false)
    case .auto:
      let isColoured =
        environment.isTerminal(stream) && environment.variable("NO_COLOR") == nil
        && environment.variables["TERM"] != "dumb"
      return Style(isColoured: isColoured)
    }
  }

  /// Whether nothing of a table is to be cut or left out (`-o wide`).
  @TaskLocal static var isWide = false

  /// The columns that a table may take; `nil` in a pipe and with `-o wide`, where nothing is cut.
  var outputColumns: Int? {
    environment.isTerminal(.output) && !Self.isWide ? environment.terminalSize()?.columns : nil
  }

  /// Writes data and a line break to standard output.
  func output(_ text: String) { write(text + "\n", to: .output) }

  /// Writes a line for people to standard error, without escaping anything.
  func note(_ text: String) { write(text + "\n", to: .error) }

  /// Writes a warning to standard error. Characters that act on a terminal are escaped, because parts of the text may
  /// come from other processes.
  func warning(_ text: String) { note(style(of: .error).yellow("warning:") + " " + text.onItsLines) }

  /// Writes an error to standard error, escaped as in `warning`.
  func error(_ text: String) { note(style(of: .error).red("error:") + " " + text.onItsLines) }

  func write(_ text: String, to stream: CommandEnvironment.Stream) {
    guard !text.isEmpty else { return }
    environment.write(stream, Array(text.utf8))
  }
}
