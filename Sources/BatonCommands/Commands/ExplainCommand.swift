import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct ExplainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Say why a request does not run: every obstacle on every host.",
    discussion: """
      Shows what the request itself waits for, and the obstacles on every known host; for a host that is gone, its \
      last report counts. For each obstacle it says which source reports it and when, when the obstacle ends by \
      itself if that is known, and how to remove it. The last line names the one change that would start the request. \
      Of more than eight hosts, those with the same obstacles are told together, below a table that says on how many \
      hosts each obstacle stands, and on how many it is the only one; --each tells every host.

      Exit status: 0 if it runs or succeeded, 1 if it failed or was cancelled, 2 if it waits, 3 if there is no such \
      request, 4 if no known host can ever take it as the fleet is configured.

      Examples:
        baton explain com.example.report
        baton explain com.example.report --each
        baton explain com.example.report -o json | jq -r '.obstacles[].code'
      """)

  @OptionGroup var request: RequestArgument
  @Flag(help: "Tell every host by itself, however many there are.") var each = false
  @OptionGroup var ui: ConsoleOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    if try await ui.open(request.page("why"), client) { return }
    let console = Console.current
    let (request, each) = (request, each)
    // Programs get each host.
    let isWhole = each || options.output != .table
    let (explanation, hosts) = try await client.connect { api in
      let explanation =
        isWhole
        ? try await api.explain(request.identifier, number: request.request)
        : try await api.explain(
          request.identifier, number: request.request, groupingBeyond: ExplanationText.few)
      // A host without an obstacle is not named in an explanation of each host: the list of hosts names it.
      let needsHosts = explanation.record.state.isPending && explanation.groups == nil
      return (explanation, needsHosts ? try await HostsCommand.all(HostFilter(), limit: nil, api).hosts : [])
    }
    console.emit(options.output, JSONValue(explanation, hosts)) {
      ExplanationText(explanation, hosts, each: each, console).lines
    }
    guard explanation.status == .done else { throw CommandFailure(explanation.status) }
  }
}

extension Explanation {
  var status: ExitStatus {
    switch verdict {
    case .running: .done
    case .ended: record.state == .succeeded ? .done : .failed
    case .waiting: .waiting
    case .impossible: .refused
    }
  }
}
