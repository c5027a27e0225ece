import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

struct ShowCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one request with every launch.",
    discussion: """
      If the definition repeats and its next request is not due yet, the last request that ran is shown, and NEXT \
      names the scheduled one. Of a request that is divided into shards, the last launches are shown; --shards lists \
      its shards in place of the launches. --definition writes the definition that the request runs, which may be an \
      earlier one than is applied now. In JSON every key is always present; it is null if its value is unknown.

      Examples:
        baton show com.example.report
        baton show com.example.report --request 3
        baton show com.example.sums --shards
        baton show com.example.report --definition
        baton show com.example.report -o json | jq '.launchHistory[].outcome'
      """)

  @OptionGroup var request: RequestArgument
  @Flag(help: "List every shard of the request.") var shards = false
  @Flag(help: "Write the definition that the request runs, as a job file.") var definition = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    guard !definition || !shards else { throw ValidationError("--definition and --shards show different things.") }
  }

  func run() async throws {
    let console = Console.current
    if definition { return try await writeDefinition(console) }
    let (request, listsShards) = (request, shards)
    let (details, shards) = try await client.connect { api in
      let details = try await api.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
      return (details, listsShards ? try await Self.shards(of: details.record, api) : nil)
    }
    let json = JSONValue(details)
    console.emit(
      options.output, shards.map { json.adding(["shardList": .array($0.map { JSONValue($0) })]) } ?? json
    ) { requestBlock(details, shards: shards, console) }
  }

  private func writeDefinition(_ console: Console) async throws {
    let request = request
    let (record, found) = try await client.connect { api in
      let details = try await api.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
      return (details.record, try await api.definition(of: details.record.identifier, number: details.record.number))
    }
    let text = try DefinitionValue(found.definition).job
    let origin = found.isApplied ? "the definition that is applied now" : "an earlier definition than is applied now"
    console.emit(
      options.output,
      [
        "identifier": JSONValue(record.identifier.rawValue), "number": JSONValue(record.number),
        "isApplied": .bool(found.isApplied), "definition": JSONValue(DefinitionValue(found.definition)),
      ]
    ) { ["# \(record.name) runs \(origin)", text] }
  }

  /// All shards of the request, page by page.
  private static func shards(of record: RequestRecord, _ api: any OperatorAPI) async throws -> [ShardRecord] {
    guard record.shards != nil else {
      throw CommandFailure(.notFound, "\(record.name) has no shards: its definition does not say 'work.spread'")
    }
    var shards: [ShardRecord] = []
    while true {
      let page = try await api.shards(
        record.identifier, number: record.number, after: shards.last?.index, limit: 1000)
      if page.isEmpty { return shards }
      shards += page
    }
  }
}
