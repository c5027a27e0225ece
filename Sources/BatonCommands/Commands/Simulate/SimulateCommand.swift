import ArgumentParser
import BatonCoordinator
import BatonModel

struct SimulateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Try out launches, expiries and conditions on the real fleet.",
    discussion: """
      What it does is real: commands run, batches are committed, hosts act on the conditions. It is marked as simulated \
      wherever it is shown, and counts towards no quarantine.

      Examples:
        baton simulate launch com.example.report
        baton simulate expire com.example.report --reason batteryLow
        baton simulate conditions alpha --power battery --battery 15 --for 5m
      """,
    subcommands: [SimulateLaunchCommand.self, SimulateExpireCommand.self, SimulateConditionsCommand.self])
}

extension SimulatedLaunch {
  var name: RequestName { RequestName(identifier: identifier, number: number) }
}

extension JSONValue {
  init(_ launch: SimulatedLaunch) {
    self = [
      "identifier": JSONValue(launch.identifier.rawValue), "request": JSONValue(launch.number),
      "launch": JSONValue(launch.launch), "host": JSONValue(launch.host.rawValue), "simulated": .bool(true),
    ]
  }
}
