package import BatonModel

/// Everything of the outside world that a command may touch, injected by the binary before anything is parsed. With the
/// same environment and the same answers of the backend, a command writes the same bytes.
package struct CommandEnvironment: Sendable {
  package enum Stream: Hashable, Sendable { case output, error }

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
  /// Writes all bytes before it returns. A closed pipe ends the process as SIGPIPE does by default.
  package var write: @Sendable (Stream, [UInt8]) -> Void
  package var isTerminal: @Sendable (Stream) -> Bool
  /// Nil if there is no terminal; asked again at each redrawing, because people resize windows.
  package var terminalSize: @Sendable () -> TerminalSize?
  /// The environment variables of the process.
  package var variables: [String: String]
  /// Absolute.
  package var currentDirectory: String
  /// Who submits and cancels, as requests record it.
  package var user: String
  /// Returns at the first SIGINT or SIGTERM, or when its task is cancelled. From the first call on, the first signal no
  /// longer ends the process by itself; a second one does.
  package var interrupted: @Sendable () async -> Void
  /// Throws `CancellationError` if its task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// Reads a line that a person types, without its line break; nil at the end of the input. Is itself nil if standard
  /// input is no terminal: then there is no person to ask.
  package var readAnswer: (@Sendable () -> String?)?
  /// A new id for each submission, unique for ever; at most 64 bytes.
  package var drawSubmissionID: @Sendable () -> String

  package init(
    backend: any Backend, now: @escaping @Sendable () -> Timestamp,
    write: @escaping @Sendable (Stream, [UInt8]) -> Void, isTerminal: @escaping @Sendable (Stream) -> Bool,
    terminalSize: @escaping @Sendable () -> TerminalSize?, variables: [String: String], currentDirectory: String,
    user: String, interrupted: @escaping @Sendable () async -> Void,
    sleep: @escaping @Sendable (Duration) async throws -> Void, readAnswer: (@Sendable () -> String?)? = nil,
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
    self.drawSubmissionID = drawSubmissionID
  }

  /// The environment of the command that runs in this task.
  static var current: CommandEnvironment {
    guard let injected else { preconditionFailure("a command runs outside of BatonCommand.execute") }
    return injected
  }

  @TaskLocal static var injected: CommandEnvironment?

  /// The span that the command was started in, as `TRACEPARENT` says; one that cannot be read counts as none.
  var submitterSpan: TraceContext? { variable("TRACEPARENT").flatMap(TraceContext.init(traceparent:)) }

  /// The variable's value; nil also if it is empty, as the XDG base directory specification and NO_COLOR have it.
  func variable(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
}
