import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct RetryCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Let a failed request go on at its checkpoint.",
    discussion: """
      It keeps its number, its trace and what it has done, and the definition it was submitted under. \
      --with-new-definition uses the definition that is applied now: apply the repaired file first. It is refused, and \
      the difference is shown, if the items or the batch size have changed, because then the checkpoint would mean \
      another position. --skip-batch skips the batch that fails; the request records it. If several shards of the \
      request failed, --shard says which of them skips its batch; the others repeat theirs.

      Examples:
        baton retry com.example.report
        baton retry com.example.report --with-new-definition
        baton retry com.example.report --skip-batch --wait
        baton retry com.example.report --skip-batch --shard 3
      """)

  @OptionGroup var request: RequestArgument
  @Flag(help: "Go on after the next batch, without running it.") var skipBatch = false
  @Option(
    help: ArgumentHelp("With --skip-batch: the failed shard whose batch is skipped, from 0.", valueName: "number"),
    transform: Arguments.index)
  var shard: Int?
  @Flag(help: "Go on under the definition that is applied now.") var withNewDefinition = false
  @Flag(help: "Wait until the request has ended, as 'baton wait' does.") var wait = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if shard != nil, !skipBatch {
      throw ValidationError("--shard belongs to --skip-batch; without it all failed shards are retried.")
    }
  }

  private var skipping: SkippedBatch {
    guard skipBatch else { return .nothing }
    return shard.map { .nextBatchOfShard($0) } ?? .nextBatch
  }

  func run() async throws {
    let console = Console.current
    let command = self
    let record = try await client.connect { api in
      try await api.retry(
        command.request.identifier, number: command.request.request, skipping: command.skipping,
        withNewDefinition: command.withNewDefinition)
    }
    guard wait else { return console.emit(options.output, JSONValue(record)) { [Self.line(record)] } }
    if options.output == .table { console.output(Self.line(record)) }
    let ended = try await client.follow([record.name], display: ProgressDisplay(console, to: .error))
    if options.output != .table, let record = ended.first { console.emit(options.output, JSONValue(record)) { [] } }
    try console.judge(ended)
  }

  private static func line(_ record: RequestRecord) -> String {
    "\(record.name): \(record.state.rawValue), goes on at batch \(record.progress.batches) (\(record.unitsText) done"
      + (record.skippedText.map { ", \($0)" } ?? "") + ")"
  }
}
