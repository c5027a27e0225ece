import BatonCoordinator
import BatonJSON
import BatonModel

/// The conditions of a host as short words, each with a sign: no colour is needed to tell them apart.
enum HostWords {
  private enum Weight: String { case plain, good, warn, bad, unknown }

  /// What a person looks for in a list. Of a host that is gone, it is what the host said last.
  static func conditions(_ host: HostReport) -> HTML {
    let facts = host.conditions
    var chips: [HTML] = [power(facts), thermal(facts), network(facts), idle(facts)].compactMap { $0 }
    if facts.lowPowerMode.value == true { chips.append(chip(.warn, "▾", "low power mode")) }
    if let gpus = facts.gpus.value?.filter(\.isPresent), !gpus.isEmpty {
      chips.append(chip(.plain, "▦", counted(gpus.count, "GPU")))
    }
    if !facts.simulated.isEmpty {
      chips.append(chip(.warn, "◇", "simulated: \(facts.simulated.joined(separator: ", "))"))
    }
    let old: HTML = host.state == .gone ? "<span class=\"quiet\">said last:</span> " : ""
    return "\(old)<span class=\"chips\">\(chips.joined(by: " "))</span>"
  }

  private static func chip(_ weight: Weight, _ sign: String, _ words: String) -> HTML {
    "<span class=\"chip \(weight.rawValue)\"><span aria-hidden=\"true\">\(sign)</span> \(words)</span>"
  }

  private static func power(_ facts: Conditions) -> HTML {
    switch facts.power.value {
    case .external: chip(.good, "✓", "mains")
    case .battery: chip(.warn, "▮", "battery" + (facts.battery.value.map { " \($0) %" } ?? ""))
    case nil: chip(.unknown, "?", "power unknown")
    }
  }

  private static func thermal(_ facts: Conditions) -> HTML {
    switch facts.thermal.value {
    case .nominal: chip(.good, "✓", "cool")
    case .fair: chip(.warn, "△", "warm")
    case .serious: chip(.bad, "▲", "hot")
    case .critical: chip(.bad, "▲", "critically hot")
    case nil: chip(.unknown, "?", "heat unknown")
    }
  }

  private static func network(_ facts: Conditions) -> HTML {
    switch facts.network.value {
    case .unmetered: chip(.good, "✓", "network")
    case .metered: chip(.warn, "¤", "metered network")
    case .unavailable: chip(.bad, "✕", "no network")
    case nil: chip(.unknown, "?", "network unknown")
    }
  }

  private static func idle(_ facts: Conditions) -> HTML? {
    switch facts.isIdle.value {
    case true: chip(.good, "✓", "idle")
    case false: chip(.plain, "●", "in use")
    case nil: chip(.unknown, "?", "idleness unknown")
    }
  }

  // MARK: One host

  /// Where commands of other people are fenced in.
  static func sandbox(_ sandbox: HostSandbox) -> String {
    let level = sandbox.available?.rawValue ?? "none"
    let available = sandbox.problem.isEmpty ? level : "\(level): \(sandbox.problem)"
    return "\(available); \(sandbox.required?.rawValue ?? "none") is required"
  }

  /// What the owner limits; `nil` if everything is allowed.
  static func permissions(_ permissions: CommandPermissions) -> HTML {
    let limits = [
      permissions.runsCommands ? nil : "no command as the worker's user, which is root",
      permissions.users.flatMap { $0.isEmpty ? nil : "users " + $0.joined(separator: ", ") },
      permissions.principals.map { "principals " + list($0.map(\.rawValue)) },
      permissions.commands.map { "commands " + list($0.map(\.rawValue)) },
      permissions.directories.map { "folders " + list($0.map(\.rawValue)) },
      permissions.network ? nil : "no network",
      permissions.secrets.map { secrets in
        "secrets "
          + list(
            secrets.map { "\($0.files.rawValue) to \($0.identifiers.map(\.rawValue).joined(separator: " and "))" })
      },
    ].compactMap { $0 }
    return limits.isEmpty ? "everything" : lines(limits)
  }

  static func list(_ names: [String], none: String = "none") -> String {
    names.isEmpty ? none : names.joined(separator: ", ")
  }

  private static func lines(_ lines: [String]) -> HTML {
    let items = lines.map { line -> HTML in "<li>\(line)</li>" }
    return "<ul class=\"plain\">\(items)</ul>"
  }
}

extension HostReport.State {
  var words: String { self == .outsideHours ? "outside its hours" : rawValue }
}

extension HostFilter.Condition {
  var words: String {
    switch self {
    case .onBattery: "on battery"
    case .lowPowerMode: "in low power mode"
    case .hot: "hot"
    case .metered: "on a metered network"
    case .offline: "without network"
    case .inUse: "in use by people"
    case .idle: "idle"
    case .busy: "with launches"
    case .full: "without a free slot"
    case .gpu: "with a GPU"
    case .simulated: "simulated"
    }
  }
}
