import ArgumentParser
import BatonHost
import BatonWire

/// `baton-worker resume`: the host's owner lends the host again.
struct ResumeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Lend this host again: end the pause of 'baton-worker pause'.",
    discussion: """
      The 'hours' in worker.yaml still apply. For root, the worker's user, and members of the group 'baton-owner'.

      EXAMPLES
        baton-worker resume
      """)

  @OptionGroup var options: OwnerOptions

  func run() async throws {
    let reply = try await options.ask(.resume)
    reply.tellWarning()
    StandardError.say(reply.status.ownerSentence)
  }
}
