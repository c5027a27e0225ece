import ArgumentParser
import BatonCoordinator
import BatonModel

struct DrainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "drain",
    abstract: "Let a host finish its batches and start nothing more there.",
    discussion: """
      Launches that run there expire with the reason 'draining': the current batch may finish, and other hosts resume \
      after its checkpoint. The host stays drained, also over restarts, until 'baton undrain'.

      Examples:
        baton drain alpha
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.") var host: String
  @OptionGroup var client: ClientOptions

  func run() async throws {
    let name = HostName(host)
    try await client.connect { try await $0.setDraining(name, true) }
    Console.current.output("\(name.rawValue.onOneLine): draining")
  }
}

struct UndrainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "undrain",
    abstract: "Let a drained host take launches again.",
    discussion: """
      Examples:
        baton undrain alpha
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.") var host: String
  @OptionGroup var client: ClientOptions

  func run() async throws {
    let name = HostName(host)
    try await client.connect { try await $0.setDraining(name, false) }
    Console.current.output("\(name.rawValue.onOneLine): takes launches again")
  }
}

struct PauseCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Start nothing more on the whole fleet.",
    discussion: """
      Running launches expire with the reason 'paused' and go on after their checkpoints when the fleet is resumed.

      Examples:
        baton pause
      """)

  @OptionGroup var client: ClientOptions

  func run() async throws {
    try await client.connect { try await $0.setPaused(true) }
    Console.current.output("the fleet is paused; go on with: baton resume")
  }
}

struct ResumeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Let a paused fleet go on.",
    discussion: """
      Examples:
        baton resume
      """)

  @OptionGroup var client: ClientOptions

  func run() async throws {
    try await client.connect { try await $0.setPaused(false) }
    Console.current.output("the fleet takes launches again")
  }
}
