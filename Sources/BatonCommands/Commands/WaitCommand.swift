import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonStore

struct WaitCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Wait until a request has ended.",
    discussion: """
      Progress goes to standard error. The command goes on waiting while the coordinator restarts. Ctrl-C stops the \
      waiting, not the request. If the definition repeats and its next request is not due yet, the command takes the \
      last request that ran; give --request to wait for the next one.

      Exit status: 0 if the request succeeded, 1 if it failed or was cancelled, 124 if the timeout is over.

      Examples:
        baton wait com.example.report
        baton wait com.example.report --timeout 10m && mail-the-report
      """)

  @OptionGroup var request: RequestArgument

  @Option(
    help: ArgumentHelp("The longest time to wait, such as 30s or 10m. Default: no limit.", valueName: "duration"),
    transform: TimeArgument.duration)
  var timeout: Duration?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let request = request
    let details = try await client.connect {
      try await $0.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
    }
    console.tellChoice(details)
    let record = details.record
    let display = ProgressDisplay(console, to: .error, isJudged: true)
    let ended = try await client.follow([record.name], display: display, timeout: timeout)
    if !options.output.isTable, let record = ended.first { console.emit(options.output, JSONValue(record)) { [] } }
    try console.judge(ended)
  }
}

extension ClientOptions {
  /// Shows the progress of the requests until all have ended, through restarts of the coordinator. Ctrl-C ends only
  /// this command: the requests go on, and the message says how to cancel them.
  /// - Returns: the ended requests, in the order of `names`.
  /// - Throws: a `CommandFailure` with status `timedOut` after `timeout`, and with status `interrupted` after Ctrl-C.
  func follow(
    _ names: [RequestName], display: ProgressDisplay, timeout: Duration? = nil
  ) async throws -> [RequestRecord] {
    let following = Following(names, display: display)
    return try await racing(timeout: timeout, interruption: following.detachment) {
      try await following.run(self)
    }
  }
}

extension Following {
  /// Stops the drawing, and returns the message for a person who pressed Ctrl-C: what goes on, and how to cancel it.
  @Sendable fileprivate func detachment() -> String {
    display.leave()
    let going = unfinished
    guard let first = going.first else { return "interrupted" }
    let what = going.count == 1 ? "\(first) goes on" : "\(going.count) requests go on"
    return "detached; \(what). Cancel with:\n"
      + going.map { "  baton cancel \($0.arguments)" }.joined(separator: "\n")
  }
}
