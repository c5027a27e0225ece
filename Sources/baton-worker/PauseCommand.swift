import ArgumentParser
import BatonBase
import BatonHost
import BatonModel
import BatonSpec
import BatonWire
import UnixSignals

/// `baton-worker pause`: the host's owner takes the host back.
struct PauseCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Take this host back: stop what runs here, and start nothing until it is lent again.",
    discussion: """
      Running launches expire with the reason 'pausedByOwner' and go on elsewhere after their last checkpoint. The \
      command waits until the host is free. The pause survives a restart of the worker and of the host; a second \
      pause replaces the first. For root, the worker's user, and members of the group 'baton-owner'.

      Exit status: 0 when the host is free; 1 if the pause ended before the host was free; 69 if no worker is found; \
      77 if you are not permitted; 130 if you pressed Ctrl-C while it waited: the pause stays.

      EXAMPLES
        baton-worker pause 2h
        baton-worker pause --no-wait
      """)

  @Argument(
    help: ArgumentHelp("How long, such as 90s, 45m, 2h or 1d. Default: until 'baton-worker resume'."),
    transform: Self.length)
  var duration: Duration?

  @Flag(help: "Do not wait until the host is free.")
  var noWait = false

  @OptionGroup var options: OwnerOptions

  private static func length(_ text: String) throws -> Duration {
    do {
      let duration = try Values.duration(text)
      guard duration > .zero else {
        throw ValidationError("the duration must be longer than zero; to end a pause, use 'baton-worker resume'")
      }
      return duration
    } catch let error as ValueError {
      throw ValidationError("\(error)")
    }
  }

  func run() async throws {
    let reply = try await options.ask(.pause(for: duration))
    reply.tellWarning()
    StandardError.say(reply.status.ownerSentence)
    if noWait { return }
    try await OwnerFailure.told { try await wait(reply) }
  }

  private func wait(_ reply: OwnerReply) async throws {
    let line = StatusLine(isTerminal: isatty(STDERR_FILENO) == 1)
    let watch = PauseWatch { () async throws(OwnerClientError) in try await reply.client.ask(.status).0 }
    let isFree = try await withThrowingTaskGroup(of: Bool.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await watch.untilFree(from: reply.status, isTerminal: line.isTerminal) { line.show($0) }
        return true
      }
      group.addTask {
        for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { break }
        return false
      }
      defer { line.end() }
      return try await group.next() ?? true
    }
    guard isFree else {
      StandardError.say("\(reply.status.name) stays \(reply.words); take it back with 'baton-worker resume'".onOneLine)
      throw ExitCode(130)
    }
  }
}

/// A status line. On a terminal each text replaces the one before; in a pipe each text is a line of its own.
private struct StatusLine: Sendable {
  let isTerminal: Bool

  func show(_ text: String) { isTerminal ? put("\r\u{1B}[K" + text) : StandardError.say(text) }

  /// Ends the line, so that its last text stays visible.
  func end() { if isTerminal { put("\n") } }

  private func put(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
