import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct StatusCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show how the fleet is, and what needs a person.",
    discussion: """
      What needs a person: a fleet that is paused, a store that cannot be written, coordinators whose beat stands still, \
      hosts that are gone, evictions, requests that failed within the last day, requests that are ready and that no host \
      can ever run, and a request that has been ready for longer than ten minutes.

      Examples:
        baton status
        baton status -o json | jq -e '.attention == []'
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let now = console.environment.now()
    let status = try await client.connect { try await FleetStatus(asking: $0, at: now) }
    console.emit(options.output, status.json) { status.lines(console.style(of: .output)) }
  }
}

extension FleetStatus {
  func lines(_ style: Style) -> [String] {
    let attention = attention
    let facts = [
      ("Fleet", standing.isPaused ? style.paint("paused", .yellow) : style.paint("takes launches", .green)),
      ("Coordinators", coordinatorText), ("Hosts", hostText), ("Slots", slotText), ("Requests", requestText),
    ]
    let width = facts.map(\.0.count).max() ?? 0
    let table = facts.map { "\($0.0.padded(to: width))  \($0.1)" }
    return table + [""]
      + (attention.isEmpty
        ? ["nothing needs a person"] : [style.bold("needs a person")] + attention.map { "  \($0.text)" })
  }

  private var coordinatorText: String {
    "\(coordinators.count)" + (standing.problem.map { "; the one that answers is not ready: \($0)" } ?? "")
  }

  private var hostText: String {
    hosts.total == 0
      ? "none" : Self.list(HostReport.State.allCases.map { state in (hosts.states[state] ?? 0, state.rawValue) })
  }

  private var slotText: String { "\(hosts.usedSlots) of \(hosts.slots) in use" }

  private var requestText: String {
    let text = Self.list([RequestState.running, .ready, .scheduled].map { (counts[$0] ?? 0, $0.rawValue) })
    return text.isEmpty ? "none are unfinished" : text
  }

  private static func list(_ counts: [(Int, String)]) -> String {
    counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }
}
