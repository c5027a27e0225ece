import ArgumentParser
import BatonCoordinator
import BatonJSON
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
      its shards in place of the launches. Of a failed request, the items of the batch are named at which it stands; \
      'baton retry --skip-batch' gives these up. --batch lists those of any batch. --definition writes the definition \
      that the request runs, which may be an earlier one than is applied now. In JSON every key is always present; it is null if its value is unknown.

      Examples:
        baton show com.example.report
        baton show com.example.report --request 3
        baton show com.example.sums --shards
        baton show com.example.report --batch 12
        baton show com.example.sums --batch 0 --shard 3
        baton show com.example.report --definition
        baton show com.example.report -o json | jq '.launchHistory[].outcome'
      """)

  @OptionGroup var request: RequestArgument
  @Flag(help: "List every shard of the request.") var shards = false
  @Option(
    help: ArgumentHelp("List the items of this batch, from 0.", valueName: "number"), transform: Arguments.index)
  var batch: Int?
  @Option(
    help: ArgumentHelp("With --batch: the shard of a divided request, from 0.", valueName: "number"),
    transform: Arguments.index)
  var shard: Int?
  @Flag(help: "Write the definition that the request runs, as a job file.") var definition = false
  @OptionGroup var ui: ConsoleOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    let asked = [definition ? "--definition" : nil, shards ? "--shards" : nil, batch == nil ? nil : "--batch"]
      .compactMap(\.self)
    guard asked.count < 2 else {
      throw ValidationError("\(asked.joined(separator: " and ")) show different things: give one of them.")
    }
    guard shard == nil || batch != nil else { throw ValidationError("--shard belongs to --batch.") }
  }

  func run() async throws {
    if try await ui.open(request.page(), client) { return }
    let console = Console.current
    if definition { return try await writeDefinition(console) }
    if let batch { return try await writeBatch(batch, console) }
    let (request, listsShards) = (request, shards)
    let (details, shards, batches) = try await client.connect { api in
      let details = try await api.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
      return (
        details, listsShards ? try await Self.shards(of: details.record, api) : nil,
        try await BatchList.failed(of: details.record, asking: api)
      )
    }
    console.emit(options.output, JSONValue(details, failed: batches, shards: shards)) {
      requestBlock(details, shards: shards, batches: batches, console)
    }
  }

  private func writeBatch(_ batch: Int, _ console: Console) async throws {
    let (request, shard) = (request, shard)
    let (record, found) = try await client.connect { api in
      let details = try await api.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
      let record = details.record
      return (
        record, try await api.batches(record.identifier, number: record.number, shard: shard, batch: batch).batches
      )
    }
    guard let items = found.first else { return }
    console.emit(options.output, JSONValue(items, of: record)) { ["\(record.name), \(items.place)"] + items.lines }
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
