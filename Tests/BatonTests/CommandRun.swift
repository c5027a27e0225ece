import BatonCommands
import BatonModel
import BatonStore
import Synchronization

/// What one call of `baton` wrote, and its exit status.
struct CommandRun: Sendable {
  var arguments: [String]
  var status: Int32
  var output: String
  var error: String

  /// The text for golden files.
  var transcript: String {
    "$ baton \(arguments.joined(separator: " "))\n-- standard output\n\(output)"
      + "-- standard error\n\(error)-- exit \(status)\n"
  }
}

/// The outside world of a test.
struct World: Sendable {
  var backend: FakeBackend
  /// The size of the terminal to which both streams go; `nil` means that they go to pipes.
  var terminal: CommandEnvironment.TerminalSize?
  var variables = ["HOME": "/home/ana"]
  /// The lengths of sleeps that end at once. Other sleeps last until they are cancelled.
  var elapsing: Set<Duration> = []
  /// What a person types when a command asks; `nil` if standard input is no terminal.
  var answer: String?
  /// What standard input has for a command that reads it to its end.
  var input: String?
  /// What standard input has when a command asks for a secret.
  var secret: String?
  /// When this returns, Ctrl-C is pressed.
  var interrupted: @Sendable () async -> Void = { await World.never() }

  init(_ backend: FakeBackend) { self.backend = backend }

  init(_ requests: [RequestRecord] = [], _ change: (inout FakeCoordinator.State) -> Void = { _ in }) {
    backend = FakeBackend(FakeCoordinator(requests, change))
  }

  var coordinator: FakeCoordinator { backend.coordinator }

  /// Returns when the task is cancelled.
  static func never() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
  }

  func baton(_ arguments: String...) async -> CommandRun { await baton(arguments) }

  func baton(_ arguments: [String]) async -> CommandRun {
    let written = Written()
    let status = await BatonCommand.execute(arguments, in: environment(written))
    return CommandRun(arguments: arguments, status: status, output: written[.output], error: written[.error])
  }

  private func environment(_ written: Written) -> CommandEnvironment {
    let ids = Mutex(0)
    let (terminal, elapsing) = (terminal, elapsing)
    var readAnswer: (@Sendable () -> String?)?
    if let answer { readAnswer = { answer } }
    return CommandEnvironment(
      backend: backend, now: { now }, write: { written.append($1, to: $0) }, isTerminal: { _ in terminal != nil },
      terminalSize: { terminal }, variables: variables, currentDirectory: "/srv", user: "ana",
      interrupted: interrupted,
      sleep: { duration in
        if elapsing.contains(duration) { await Task.yield() } else { await World.never() }
        try Task.checkCancellation()
      },
      readAnswer: readAnswer, readSecret: { [secret] _ in secret },
      readInput: { [input] in input.map { Array($0.utf8) } },
      drawSubmissionID: {
        ids.withLock { id in
          id += 1
          return "id-\(id)"
        }
      })
  }
}

private final class Written: Sendable {
  private let bytes = Mutex<[CommandEnvironment.Stream: [UInt8]]>([:])

  func append(_ more: [UInt8], to stream: CommandEnvironment.Stream) {
    bytes.withLock { $0[stream, default: []] += more }
  }

  subscript(_ stream: CommandEnvironment.Stream) -> String {
    bytes.withLock { String(decoding: $0[stream] ?? [], as: UTF8.self) }
  }
}
