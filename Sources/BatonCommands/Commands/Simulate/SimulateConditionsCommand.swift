import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct SimulateConditionsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "conditions",
    abstract: "Replace conditions of a host for a while.",
    discussion: """
      The host acts on simulated conditions as on real ones: launches expire, and no launch starts that they forbid. \
      Their source is 'simulated' wherever they are shown. Conditions that are not named stay real. The command \
      replaces everything that was simulated before; --end ends the simulation.

      Examples:
        baton simulate conditions alpha --power battery --battery 15
        baton simulate conditions alpha --thermal serious --for 2m
        baton simulate conditions alpha --end
      """)

  static let defaultTerm = Duration.seconds(600)
  static let terms = Duration.seconds(1)...Duration.seconds(86_400)

  @Argument(help: "The host's name, as 'baton hosts' has it.", completion: .hosts) var host: String
  @OptionGroup var conditions: ConditionOptions

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long, from 1s to 24h. Default: 10m.", valueName: "duration"),
    transform: TimeArgument.duration)
  var term: Duration?

  @Flag(help: "End the simulation on this host.") var end = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    let overrides = conditions.overrides
    if end, !overrides.isEmpty || term != nil {
      throw ValidationError("--end ends the whole simulation: name no condition and no time with it.")
    }
    if !end, overrides.isEmpty {
      throw ValidationError("Name a condition, such as --power battery, or take back what is simulated with --end.")
    }
    if let term, !Self.terms.contains(term) { throw ValidationError("--for must be from 1s to 24h.") }
  }

  func run() async throws {
    let (name, overrides, term) = (HostName(host), conditions.overrides, end ? .zero : term ?? Self.defaultTerm)
    try await client.connect(concerning: name) { try await $0.simulateConditions(overrides, on: name, lasting: term) }
    Console.current.emit(options, JSONValue(simulated: overrides, on: name, lasting: term)) { [line(overrides, term)] }
  }

  private func line(_ overrides: ConditionOverrides, _ term: Duration) -> String {
    let name = host.onOneLine
    if overrides.isEmpty { return "\(name): its real conditions count again" }
    return "\(name): simulated for \(term.inWords): \(overrides.words.joined(separator: ", ")); take it back with: "
      + "baton simulate conditions \(name) --end"
  }
}
