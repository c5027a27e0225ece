import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct CoordinatorsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "coordinators",
    abstract: "Show the coordinators of the fleet.",
    discussion: """
      Several coordinators can share a store in PostgreSQL, and each of them answers for the whole fleet. BEAT is for \
      how long a coordinator has shown no sign of life, by the clock of the coordinator that answers; after 5 seconds \
      another one takes over its hosts. A coordinator that has ended is listed for an hour.

      The first address is the one for workers, the second one for operators. An address that begins with 127. or \
      localhost can be reached on that coordinator's machine only.

      Examples:
        baton coordinators
        baton coordinators -o json | jq -r '.[] | select(.ended | not) | .operators'
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let coordinators = try await client.connect { try await $0.coordinators() }
    console.emit(options.output, list: coordinators.map { JSONValue($0) }) { coordinatorTable(coordinators, console) }
    if Set(coordinators.filter { !$0.isEnded }.map(\.namespaces)).count > 1 {
      console.note(
        "the coordinators have different lists of namespaces, so quotas and the order of starting are not exact: give "
          + "all of them the same 'namespaces' and 'limits.useHalfLife' in coordinator.yaml, and start them again")
    }
  }
}

private func coordinatorTable(_ coordinators: [CoordinatorReport], _ console: Console) -> [String] {
  TablePrinter.lines(
    [
      .init("NUMBER", isNumber: true), .init("NAME"), .init("STATE"), .init("BEAT", rank: 1),
      .init("HOSTS", isNumber: true), .init("WORKERS", rank: 2), .init("OPERATORS", rank: 3), .init("HTTPS", rank: 5),
      .init("VERSION", rank: 4),
    ], coordinators.map(row), style: console.style(of: .output), width: console.outputColumns)
}

private func row(_ coordinator: CoordinatorReport) -> [Cell] {
  let place = coordinator.place
  return [
    Cell("\(coordinator.number)"), text(place.name), state(coordinator), Cell(beat(coordinator)),
    Cell("\(coordinator.hosts)"), text(place.workers), text(place.operators ?? ""), text(place.https ?? ""),
    text(place.version),
  ]
}

private func text(_ text: String) -> Cell { Cell(text.isEmpty ? "-" : text) }

private func state(_ coordinator: CoordinatorReport) -> Cell {
  if coordinator.isEnded {
    return Cell("ended" + (coordinator.endedFor.map { " \($0.inWords) ago" } ?? ""), .red)
  }
  if coordinator.place.workers.isEmpty { return Cell("starting", .yellow) }
  let roles = (coordinator.isSteward ? ["steward"] : []) + (coordinator.answers ? ["answers"] : [])
  return Cell(roles.isEmpty ? "serves" : roles.joined(separator: ", "), .green)
}

private func beat(_ coordinator: CoordinatorReport) -> String {
  if coordinator.isEnded { return "-" }
  guard let age = coordinator.beatAge else { return "not known" }
  return age < .seconds(1) ? "just now" : "\(age.inWords) ago"
}
