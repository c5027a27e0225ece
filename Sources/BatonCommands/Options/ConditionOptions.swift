import ArgumentParser
import BatonJSON
import BatonModel

/// The conditions of a host as options. A condition that is not named is `nil`.
struct ConditionOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp("external or battery.", valueName: "source"),
    completion: .list(PowerSource.allCases.map(\.rawValue)), transform: Arguments.word)
  var power: PowerSource?

  @Option(help: ArgumentHelp("Charge of the battery, 0 to 100.", valueName: "percent"), transform: Arguments.percent)
  var battery: Int?

  @Option(
    help: ArgumentHelp("true or false.", valueName: "on"), completion: .list(["true", "false"]),
    transform: Arguments.truth)
  var lowPowerMode: Bool?

  @Option(
    help: ArgumentHelp("nominal, fair, serious or critical.", valueName: "state"),
    completion: .list(ThermalState.allCases.map(\.name)), transform: Arguments.thermal)
  var thermal: ThermalState?

  @Option(
    help: ArgumentHelp("unavailable, metered or unmetered.", valueName: "state"),
    completion: .list(NetworkState.allCases.map(\.rawValue)), transform: Arguments.word)
  var network: NetworkState?

  @Option(
    help: ArgumentHelp("true or false.", valueName: "is"), completion: .list(["true", "false"]),
    transform: Arguments.truth)
  var idle: Bool?

  var overrides: ConditionOverrides {
    ConditionOverrides(
      power: power, battery: battery, lowPowerMode: lowPowerMode, thermal: thermal, network: network, isIdle: idle)
  }
}

extension ConditionOverrides {
  /// Each replaced condition in words, such as `power battery` and `battery 15 %`.
  var words: [String] {
    [
      power.map { "power \($0.rawValue)" }, battery.map { "battery \($0) %" },
      lowPowerMode.map { "low power mode \($0 ? "on" : "off")" }, thermal.map { "thermal \($0.name)" },
      network.map { "network \($0.rawValue)" }, isIdle.map { "idle \($0 ? "yes" : "no")" },
    ].compactMap { $0 }
  }
}
