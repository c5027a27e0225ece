package import BatonModel
package import BatonProcess

/// Reads the conditions of a Mac with the commands of macOS, in place of the files that Linux has. It is tested with
/// recorded output of these commands, and has not been run on a Mac yet.
package struct MacSystem: Sendable {
  private let settings: ConditionSettings
  private let command: SystemCommand

  package init(_ settings: ConditionSettings, command: SystemCommand = .system) {
    self.settings = settings
    self.command = command
  }

  /// Runs the commands one after another. Together they take some tens of milliseconds.
  package func look() async -> Glance.Seen {
    var seen = Glance.Seen()
    let probes = settings.probes
    if probes.contains(.power), let text = await output(["pmset", "-g", "batt"]) {
      seen.power = MacProbes.power(fromBatteryListing: text)
    }
    if probes.contains(.lowPowerMode), let text = await output(["pmset", "-g"]) {
      seen.lowPowerModes = [MacProbes.lowPowerMode(fromSettings: text)].compactMap { $0 }
    }
    if probes.contains(.thermal), let text = await output(["pmset", "-g", "therm"]) {
      seen.thermal = MacProbes.thermal(fromWarnings: text)
    }
    if probes.contains(.network) { seen.network = await network() }
    if probes.contains(.idle) { seen.idle = await idle() }
    return seen
  }

  /// Lists the GPUs. This takes seconds.
  package func gpus() async -> Reading<[GPU]> {
    guard let text = await output(["system_profiler", "SPDisplaysDataType", "-json"], patience: .seconds(30)) else {
      return Reading(nil, source: "system_profiler", raw: "no answer")
    }
    return MacProbes.gpus(fromProfile: text)
  }

  /// `scutil` does not tell what a network costs, so every network counts as unmetered.
  private func network() async -> Reading<NetworkState> {
    guard let text = await output(["scutil", "--nwi"]) else {
      return Reading(nil, source: "scutil", raw: "no answer")
    }
    return MacProbes.network(fromInformation: text)
  }

  private func idle() async -> IdleVerdict {
    guard let text = await output(["ioreg", "-c", "IOHIDSystem"]),
      let idle = MacProbes.inputIdleTime(fromRegistry: text)
    else { return .unknown(raw: "ioreg lists no use of input devices", looksUnused: false) }
    let raw = "input devices used \(idle.roughly) ago"
    return .known(Reading(idle >= settings.idle.after, source: "input", raw: raw))
  }

  private static let patience = Duration.seconds(5)

  private func output(_ arguments: [String], patience: Duration = patience) async -> String? {
    if case .output(let text) = await command.run(arguments, patience) { text } else { nil }
  }
}
