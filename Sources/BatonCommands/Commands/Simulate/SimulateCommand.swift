import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct SimulateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Try out launches, expiries, conditions and transfers on the real fleet.",
    discussion: """
      What it does is real: commands run, batches are committed, hosts act on the conditions. It is marked as simulated \
      wherever it is shown, and counts towards no quarantine.

      Examples:
        baton simulate launch com.example.report
        baton simulate expire com.example.report --reason batteryLow
        baton simulate conditions alpha --power battery --battery 15 --for 5m
        baton simulate transfer 42/0 --interrupt
      """,
    subcommands: [
      SimulateLaunchCommand.self, SimulateExpireCommand.self, SimulateConditionsCommand.self,
      SimulateTransferCommand.self,
    ])

  /// Checks what chooses the requests of a simulation.
  static func check(
    _ identifier: IdentifierPattern?, _ request: Int?, isBulk: Bool, chooses: Bool
  ) throws {
    if identifier == nil, !chooses {
      throw ValidationError("Name an identifier or a pattern, or choose requests with an option.")
    }
    if isBulk, request != nil { throw ValidationError("--request needs an identifier, and no other choice.") }
  }
}

extension SimulatedLaunch {
  var name: RequestName { RequestName(identifier: identifier, number: number) }
}
