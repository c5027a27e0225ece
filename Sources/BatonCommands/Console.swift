import BatonModel

/// Where a command writes: data on standard output, all else on standard error.
struct Console: Sendable {
  let environment: CommandEnvironment

  /// The console of the command that runs in this task.
  static var current: Console { Console(environment: .current) }

  func style(of stream: CommandEnvironment.Stream) -> Style {
    let isColoured =
      environment.isTerminal(stream) && environment.variable("NO_COLOR") == nil
      && environment.variables["TERM"] != "dumb"
    return Style(isColoured: isColoured)
  }

  /// Columns that a table may take; nil in a pipe, where nothing is cut.
  var outputColumns: Int? { environment.isTerminal(.output) ? environment.terminalSize()?.columns : nil }

  /// Data, with a line break after it.
  func output(_ text: String) { write(text + "\n", to: .output) }

  func note(_ text: String) { write(text + "\n", to: .error) }

  /// Parts of the text may come from elsewhere: what would act on the terminal is escaped.
  func warning(_ text: String) { note(style(of: .error).yellow("warning:") + " " + text.onItsLines) }

  /// As `warning`.
  func error(_ text: String) { note(style(of: .error).red("error:") + " " + text.onItsLines) }

  func write(_ text: String, to stream: CommandEnvironment.Stream) {
    guard !text.isEmpty else { return }
    environment.write(stream, Array(text.utf8))
  }
}
