import BatonCoordinator
import BatonJSON
import BatonModel

/// The text of `baton hosts`: a line for each host.
func hostTable(_ hosts: [HostReport], _ console: Console) -> [String] {
  let now = console.environment.now()
  guard !hosts.isEmpty else {
    console.note("no host has connected yet: start one with 'baton-worker --name NAME --data DIR'")
    return []
  }
  // Simulated conditions have a column of their own, if there are any, because some of them have no other column.
  let isSimulating = hosts.contains { !$0.conditions.simulated.isEmpty }
  // So has the coordinator that serves a host, if not all of them are served by the one that answers.
  let isServedElsewhere = hosts.contains { $0.age != nil }
  return TablePrinter.lines(
    hostColumns + (isSimulating ? [.init("SIMULATED")] : []) + (isServedElsewhere ? [.init("COORDINATOR")] : []),
    hosts.map { row($0, now) + (isSimulating ? [mark($0)] : []) + (isServedElsewhere ? [Cell($0.server)] : []) },
    style: console.style(of: .output), width: console.outputColumns)
}

extension HostReport {
  /// The coordinator that serves the host, and for another one than the one that answers how old the facts are.
  fileprivate var server: String {
    guard let coordinator else { return "-" }
    return "number \(coordinator)" + (age.map { ", \($0.asOf)" } ?? "")
  }
}

extension Duration {
  /// How old facts are that another coordinator has stored: `as of 2s ago`.
  fileprivate var asOf: String { self < .seconds(1) ? "as of just now" : "as of \(inWords) ago" }
}

private let hostColumns: [TablePrinter.Column] = [
  .init("HOST"), .init("STATE"), .init("SLOTS", isNumber: true), .init("POWER", rank: 5), .init("THERMAL", rank: 4),
  .init("NETWORK", rank: 3), .init("IDLE", rank: 6), .init("GPUS", isNumber: true, rank: 2), .init("VERSION", rank: 1),
  .init("LAST SEEN", rank: 7), .init("RUNNING"),
]

private func mark(_ host: HostReport) -> Cell {
  let names = host.conditions.simulated
  return names.isEmpty ? "-" : Cell(names.joined(separator: ", "), .yellow)
}

private func row(_ host: HostReport, _ now: Timestamp) -> [Cell] {
  let conditions = host.conditions
  return [
    Cell(host.name.rawValue), Cell(host.state.rawValue, host.state.colour),
    Cell("\(host.usedSlots)/\(host.capabilities.slots)"), Cell(conditions.powerWords),
    Cell(conditions.thermal.words { $0.name }), Cell(conditions.network.words { $0.rawValue }),
    Cell(conditions.isIdle.words { $0 ? "yes" : "no" }), Cell(conditions.gpus.words { String($0.count) }),
    Cell(host.version), Cell(host.lastSeenAt?.relative(to: now) ?? "-"),
    Cell(host.running.isEmpty ? "-" : host.running.map(\.rawValue).joined(separator: ", ")),
  ]
}

extension Conditions {
  /// The power source, and the charge of a battery: `external`, or `battery 62 %`.
  fileprivate var powerWords: String {
    let charge = power.value == .battery ? battery.value.map { " \($0) %" } : nil
    return power.words { $0.rawValue } + (charge ?? "")
  }
}

/// The text of `baton hosts NAME`: everything that is known about one host.
func hostBlock(_ host: HostReport, _ console: Console) -> [String] {
  let able = host.capabilities
  let style = console.style(of: .output)
  let facts = [
    ("State", style.paint(host.state.rawValue, host.state.colour)),
    ("Slots", "\(host.usedSlots) of \(able.slots) in use"),
    ("Running", list(host.running.map(\.rawValue), none: "nothing")),
    ("Kinds", list(JobKind.allCases.filter(able.kinds.contains).map(\.rawValue), none: "none")),
    ("Commands", able.runsCommands ? "yes" : "no"),
    ("Handlers", list(able.handlers.map(\.rawValue), none: "none")),
    ("Permitted", list(able.permittedIdentifiers.map(\.rawValue), none: "every identifier")),
    ("Sandbox", able.sandbox.map(sandboxWords) ?? ""),
    ("Allowed", able.permissions.map(permissionWords) ?? ""),
    ("Version", host.version.onOneLine),
    ("Served by", host.age == nil ? "" : "coordinator \(host.server)"),
    ("Last seen", host.lastSeenAt?.dated(from: console.environment.now()) ?? "never"),
  ]
  return [style.bold(host.name.rawValue.onOneLine)] + block(facts, columns: console.outputColumns) + [""]
    + TablePrinter.lines(
      [.init("CONDITION"), .init("VALUE"), .init("FOR", rank: 1), .init("SOURCE"), .init("READ")],
      host.conditions.facts.map(row),
      style: style, width: console.outputColumns)
}

private func sandboxWords(_ sandbox: HostSandbox) -> String {
  let level = sandbox.available?.rawValue ?? "none"
  let available = sandbox.problem.isEmpty ? level : "\(level): \(sandbox.problem.onOneLine)"
  return "\(available); \(sandbox.required?.rawValue ?? "none") is required"
}

/// What the owner limits; empty if everything is allowed.
private func permissionWords(_ permissions: CommandPermissions) -> String {
  [
    permissions.runsCommands ? nil : "no command as the worker's user, which is root",
    permissions.users.flatMap { $0.isEmpty ? nil : "users " + list($0.map(\.onOneLine), none: "") },
    permissions.principals.map { "principals " + list($0.map(\.rawValue.onOneLine), none: "none") },
    permissions.commands.map { "commands " + list($0.map(\.rawValue.onOneLine), none: "none") },
    permissions.directories.map { "directories " + list($0.map(\.rawValue.onOneLine), none: "none") },
    permissions.network ? nil : "no network",
    permissions.secrets.map { "secrets " + list($0.map(words), none: "none") },
  ].compactMap { $0 }.joined(separator: "; ")
}

/// A pattern of files of secrets, and the definitions that may use them.
private func words(_ permission: SecretPermission) -> String {
  let identifiers = permission.identifiers.map(\.rawValue.onOneLine).joined(separator: " and ")
  return "\(permission.files.rawValue.onOneLine) to \(identifiers)"
}

private func row(_ fact: ConditionFact) -> [Cell] {
  [
    Cell(fact.name), Cell(fact.value), Cell(fact.age?.inWords ?? "-"),
    Cell(fact.source, fact.isSimulated ? .yellow : nil),
    Cell(fact.raw.isEmpty ? "-" : fact.raw),
  ]
}

/// Lines of the form `  Name   value`, with the values aligned. Entries with an empty value are left out.
/// - Parameter columns: the width of the terminal. Longer values are broken between words, and go on below themselves.
///   `nil` breaks nothing.
func block(_ facts: [(name: String, value: String)], columns: Int? = nil) -> [String] {
  let width = facts.map(\.name.count).max() ?? 0
  let margin = String(repeating: " ", count: width + 4)
  return facts.filter { !$0.value.isEmpty }.flatMap { fact -> [String] in
    let room = columns.map { max(20, $0 - margin.count) } ?? .max
    let lines = fact.value.visibleColumns > room ? fact.value.wrapped(to: room) : [fact.value]
    return lines.enumerated().map { $0 == 0 ? "  \(fact.name.padded(to: width))  \($1)" : margin + $1 }
  }
}

private func list(_ names: [String], none: String) -> String {
  names.isEmpty ? none : names.joined(separator: ", ").onOneLine
}

extension HostReport.State {
  var colour: Style.Colour {
    switch self {
    case .ready: .green
    case .away, .draining, .paused, .outsideHours: .yellow
    case .gone: .red
    }
  }
}
