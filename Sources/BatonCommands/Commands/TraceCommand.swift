import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import BatonTelemetry

struct TraceCommand: AsyncParsableCommand, Sendable {
  /// The format in which a trace is written.
  enum Format: String, CaseIterable, ExpressibleByArgument, Sendable {
    case table, json, jsonl, otlp
  }

  static let configuration = CommandConfiguration(
    commandName: "trace",
    abstract: "Show where the time of one request went: its trace, as a waterfall.",
    discussion: """
      Shows the running request, otherwise the last request that ran. All data comes from the coordinator's store: no \
      tracing backend is needed, and the trace is complete even if the request was not sampled. There is a row for \
      each wait with its obstacles, for each launch with its host, outcome and expiry, and for the time in which the \
      request was not due. If there are many launches, the first, the last and the longest are shown; of a request with \
      many shards, a row for each lane.

      Examples:
        baton trace com.example.report
        baton trace com.example.report --request 3 --all
        baton trace com.example.report -o json | jq -r .summary.text
        baton trace com.example.report -o otlp >trace.json
      """)

  @OptionGroup var request: RequestArgument
  @OptionGroup var ui: ConsoleOption
  @OptionGroup var client: ClientOptions

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "table for people; json or jsonl (on one line) for scripts; otlp: an ExportTraceServiceRequest in OTLP's JSON.",
      valueName: "format"))
  var output: Format = .table

  @Flag(help: "Every launch and every event.")
  var all = false

  @Option(
    help: ArgumentHelp(
      "Prints the address of the trace: this one, with the trace's id for {traceId}. Default: BATON_TRACE_URL.",
      valueName: "url"),
    transform: Self.link)
  var traceUrl: TraceLink?

  func run() async throws {
    if try await ui.open(request.page("trace"), client) { return }
    let console = Console.current
    let link = try traceUrl ?? TraceLink.configured(console.environment)
    let request = request
    let (details, trace) = try await client.connect { api in
      if let number = request.request {
        return (nil as RequestDetails?, try await api.trace(request.identifier, number: number))
      }
      let details = try await api.details(request.identifier, number: nil, choosing: .ran)
      return (details, try await api.trace(request.identifier, number: details.record.number))
    }
    if let details { console.tellChoice(details) }
    let name = trace.name(orElse: request.identifier, number: request.request ?? details?.record.number)
    let address = trace.spans.first.flatMap { link?.address(of: $0.trace) }
    switch output {
    case .table: console.lines(text(name, trace, address, console).lines)
    case .json: console.output(JSONValue(name, trace, link: address).indented)
    case .jsonl: console.output(JSONValue(name, trace, link: address).compact)
    case .otlp: writeOTLP(trace, console)
    }
  }

  private func text(_ name: RequestName, _ trace: RequestTrace, _ address: String?, _ console: Console) -> TraceText {
    TraceText(
      name, trace, link: address, showsAll: all, style: console.style(of: .output), width: console.outputColumns)
  }

  private func writeOTLP(_ trace: RequestTrace, _ console: Console) {
    console.output(trace.exportable.json)
    let left = trace.open.count
    if left > 0 { console.note("\(counted(left, "open span")) \(left == 1 ? "is" : "are") left out") }
  }

  private static func link(_ text: String) throws -> TraceLink {
    if let link = TraceLink(text) { return link }
    throw ValidationError("It must be an http or https address with \(TraceLink.placeholder) in it.")
  }

}

extension TraceLink {
  /// The link that the variable `BATON_TRACE_URL` gives; `nil` if it is not set.
  static func configured(_ environment: CommandEnvironment) throws -> TraceLink? {
    guard let text = environment.variable("BATON_TRACE_URL") else { return nil }
    if let link = TraceLink(text) { return link }
    throw CommandFailure(
      .usage, "BATON_TRACE_URL must be an http or https address with \(placeholder) in it: \(text.onOneLine)")
  }
}
