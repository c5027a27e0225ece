package import BatonModel

/// Everything in the outside world that a command uses: terminal, clock, user, signals and coordinators. The binary
/// passes the real one to `BatonCommand.execute`; tests pass one of their own. With the same environment and the same
/// answers of its backend, a command writes the same bytes.
package struct CommandEnvironment: Sendable {
  package enum Stream: Hashable, Sendable { case output, error }

  /// When text is coloured: `auto` means on a terminal, unless NO_COLOR is set.
  enum Colour: String, Hashable, Sendable, CaseIterable { case auto, always, never }

  package struct TerminalSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
      self.columns = columns
      self.rows = rows
    }
  }

  package var backend: any Backend
  package var now: @Sendable () -> Timestamp
  /// Writes all bytes before it returns. If the pipe is closed, it ends the process with status 141 (128 + SIGPIPE).
  package var write: @Sendable (Stream, [UInt8]) -> Void
  package var isTerminal: @Sendable (Stream) -> Bool
  /// The size of the terminal; `nil` if there is no terminal. Commands ask again at each redraw, because people
  /// resize windows.
  package var terminalSize: @Sendable () -> TerminalSize?
  /// The environment variables of the process.
  package var variables: [String: String]
  /// The absolute path of the working directory.
  package var currentDirectory: String
  /// The name of the user, which requests record as the principal that submitted or cancelled them.
  package var user: String
  /// Returns at the first SIGINT or SIGTERM, or when its task is cancelled. From the first call on, the first signal no
  /// longer ends the process by itself; a second one does.
  package var interrupted: @Sendable () async -> Void
  /// Throws `CancellationError` if its task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// Reads a line that a person types, and returns it without its line break, or `nil` at the end of the input. The
  /// closure itself is `nil` if standard input is no terminal, because then there is no person to ask.
  package var readAnswer: (@Sendable () -> String?)?
  /// Asks for a secret and reads one line of standard input, which a terminal does not show. Returns `nil` at the end
  /// of the input.
  package var readSecret: @Sendable (_ prompt: String) -> String?
  /// Reads standard input to its end; nil if it cannot be read.
  package var readInput: @Sendable () -> [UInt8]?
  /// Opens an address in the person's browser. Returns false if there is none; the person has to open it then.
  package var openBrowser: @Sendable (String) -> Bool
  /// What `--color` says.
  var colour = Colour.auto
  /// Draws a new submission id of at most 64 bytes, which no other submission has ever used.
  package var drawSubmissionID: @Sendable () -> String

  package init(
    backend: any Backend, now: @escaping @Sendable () -> Timestamp,
    write: @escaping @Sendable (Stream, [UInt8]) -> Void, isTerminal: @escaping @Sendable (Stream) -> Bool,
    terminalSize: @escaping @Sendable () -> TerminalSize?, variables: [String: String], currentDirectory: String,
    user: String, interrupted: @escaping @Sendable () async -> Void,
    sleep: @escaping @Sendable (Duration) async throws -> Void, readAnswer: (@Sendable () -> String?)? = nil,
    readSecret: @escaping @Sendable (String) -> String? = { _ in nil },
    readInput: @escaping @Sendable () -> [UInt8]? = { nil },
    openBrowser: @escaping @Sendable (String) -> Bool = { _ in false },
    drawSubmissionID: @escaping @Sendable () -> String
  ) {
    self.backend = backend
    self.now = now
    self.write = write
    self.isTerminal = isTerminal
    self.terminalSize = terminalSize
    self.variables = variables
    self.currentDirectory = currentDirectory
    self.user = user
    self.interrupted = interrupted
    self.sleep = sleep
    self.readAnswer = readAnswer
    self.readSecret = readSecret
    self.readInput = readInput
    self.openBrowser = openBrowser
    self.drawSubmissionID = drawSubmissionID
  }

  /// The environment of the command that runs in this task.
  static var current: CommandEnvironment {
    guard let injected else { preconditionFailure("a command runs outside of BatonCommand.execute") }
    return injected
  }

  @TaskLocal static var injected: CommandEnvironment?

  /// The span in which the command was started, as the variable `TRACEPARENT` says (W3C Trace Context); `nil` if the
  /// variable is missing or malformed.
  var submitterSpan: TraceContext? { variable("TRACEPARENT").flatMap(TraceContext.init(traceparent:)) }

  /// The value of the environment variable. An empty value counts as missing, as the XDG Base Directory Specification
  /// and NO_COLOR demand.
  func variable(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
}
