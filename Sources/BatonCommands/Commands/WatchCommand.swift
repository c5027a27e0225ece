import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct WatchCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Watch a request until it ends, or everything that is unfinished.",
    discussion: """
      On a terminal the lines are redrawn; in a pipe every change is a line. With -o json or jsonl, every change is \
      one JSON object on a line. Without an identifier, the command runs until Ctrl-C, which cancels no request. With \
      an identifier, the exit status is that of 'baton wait'.

      Examples:
        baton watch
        baton watch com.example.report
        baton watch com.example.report -o jsonl | jq -c '[.state, .completedUnits]'
      """)

  @Argument(
    help: "The identifier; all unfinished requests if there is none.", completion: .identifiers,
    transform: Arguments.identifier)
  var identifier: JobIdentifier?

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if request != nil, identifier == nil { throw ValidationError("--request needs an identifier.") }
  }

  func run() async throws {
    let console = Console.current
    let display = ProgressDisplay(console, to: .output, isJSON: !options.output.isTable)
    guard let identifier else { return try await watchAll(display) }
    let number = request
    let record = try await client.connect { try await $0.details(identifier, number: number).record }
    try console.judge(try await client.follow([record.name], display: display))
  }

  private func watchAll(_ display: ProgressDisplay) async throws {
    let reconnection = Reconnection()
    let client = client
    let leave: @Sendable () -> String = {
      display.leave()
      return ""
    }
    try await racing(interruption: leave) {
      try await reconnection.run(client, display) { api in
        var watch = FleetWatch(display)
        while true {
          // An overloaded coordinator refuses lists. The command asks again after the interval.
          do { try await watch.look(api) } catch OperatorError.overloaded {}
          reconnection.noteAnswer()
          try await CommandEnvironment.current.sleep(FleetWatch.interval)
        }
      }
    }
  }
}

/// Polls all unfinished requests, because no stream of the coordinator announces new requests.
private struct FleetWatch {
  /// The time between two polls.
  static let interval = Duration.seconds(1)
  /// The most requests that are listed; no screen shows more.
  static let limit = 500

  private let display: ProgressDisplay
  private var seen: [RequestID: RequestRecord] = [:]
  private var isFirstLook = true

  init(_ display: ProgressDisplay) { self.display = display }

  mutating func look(_ api: any OperatorAPI) async throws {
    let records = try await unfinished(api)
    if records.isEmpty, isFirstLook { display.note("all requests have ended; new requests will appear here") }
    isFirstLook = false
    let here = Set(records.map(\.id))
    for gone in seen.values.filter({ !here.contains($0.id) }).sorted(by: { $0.id < $1.id }) {
      try await tellEnd(of: gone, api)
    }
    for record in records where seen.updateValue(record, forKey: record.id) != record { display.update(record) }
    display.redraw()
  }

  /// What runs, and as many of the others as there is room for, the oldest first.
  private func unfinished(_ api: any OperatorAPI) async throws -> [RequestRecord] {
    let running = try await api.requests(RequestFilter(states: [.running]), after: nil, limit: Self.limit)
    let rest = Self.limit - running.count
    guard rest > 0 else { return running }
    let pending = RequestFilter(states: Set(RequestState.allCases.filter(\.isPending)))
    let ids = Set(running.map(\.id))
    // A request may have begun to run between the two questions.
    return running + (try await api.requests(pending, after: nil, limit: rest)).filter { !ids.contains($0.id) }
  }

  private mutating func tellEnd(of record: RequestRecord, _ api: any OperatorAPI) async throws {
    seen[record.id] = nil
    do {
      let record = try await api.details(record.identifier, number: record.number).record
      // It began to run, or waits again, between the two questions.
      guard record.state.isEnded else { return display.update(record) }
      display.settle(record)
    } catch OperatorError.notFound {  // It was replaced or pruned in the meantime: there is no end to show.
      display.forget(record)
    }
  }
}
