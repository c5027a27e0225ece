import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct RetryCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Let a failed request, or several, go on at their checkpoints.",
    discussion: """
      It keeps its number, its trace and what it has done, and the definition it was submitted under. \
      --with-new-definition uses the definition that is applied now: apply the repaired file first. It is refused, and \
      the difference is shown, if the items or the batch size have changed, because then the checkpoint would mean \
      another position. --skip-batch skips the batch that fails; the request records it. If several shards of the \
      request failed, --shard says which of them skips its batch; the others repeat theirs. A command without items has \
      no batch to skip, unless it has kept a cursor. A request that waits for its retry becomes due now, as with \
      'baton start'; to give it the new definition, use 'baton apply FILE --refreeze'.

      A pattern, --host, --older-than or --by chooses several failed requests, at most 10,000. On a terminal the \
      command then asks for confirmation; a script must give --yes, otherwise the command is refused.

      Examples:
        baton retry com.example.report
        baton retry 'com.example.photos.*' --dry-run
        baton retry --host alpha --yes
        baton retry com.example.report --with-new-definition
        baton retry com.example.report --skip-batch --wait
        baton retry com.example.report --skip-batch --shard 3
      """)

  @Argument(
    help: "The identifier: its last failed request that ran, or a pattern: all failed requests.",
    completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern?
  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?
  @Flag(help: "Go on after the next batch, without running it.") var skipBatch = false
  @Option(
    help: ArgumentHelp("With --skip-batch: the failed shard whose batch is skipped, from 0.", valueName: "number"),
    transform: Arguments.index)
  var shard: Int?
  @Flag(help: "Go on under the definition that is applied now.") var withNewDefinition = false
  @Flag(help: "Wait until the request has ended, as 'baton wait' does.") var wait = false
  @OptionGroup var bulk: BulkOptions
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private var isBulk: Bool { bulk.chooses || identifier?.literal == nil }

  func validate() throws {
    if identifier == nil, !bulk.chooses {
      throw ValidationError("Name an identifier or a pattern, or choose requests with an option.")
    }
    if isBulk, request != nil || shard != nil || wait {
      throw ValidationError("--request, --shard and --wait need one identifier, and no other choice.")
    }
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
    guard !isBulk, let identifier = identifier?.literal else { return try await retrySeveral(console) }
    if bulk.dryRun {
      let definition =
        skipBatch ? try await client.connect { try await Self.definition(identifier, command.request, $0) } : nil
      return try await client.foresee(
        identifier, request, choosing: .ran, options, where: { $0.state == .failed || Self.becomesDue($0) },
        foreseen: { foreseen($0, under: definition) })
    }
    let record = try await client.connect { api in
      try await api.retry(
        identifier, number: command.request, skipping: command.skipping, withNewDefinition: command.withNewDefinition)
    }
    guard wait else { return console.emit(options, JSONValue(record)) { [Self.line(record)] } }
    if options.output.isTable, !options.quiet { console.output(Self.line(record)) }
    let ended = try await client.follow(
      [record.name], display: ProgressDisplay(console, to: .error, isQuiet: options.quiet, isJudged: true))
    if !options.output.isTable, let record = ended.first { console.emit(options.output, JSONValue(record)) { [] } }
    try console.judge(ended)
  }

  private func retrySeveral(_ console: Console) async throws {
    let change = BulkChange(
      verb: "retry",
      filter: RequestFilter(states: [.failed], pattern: identifier, host: bulk.host.map { HostName($0) }),
      options: bulk.choice)
    let found = try await client.connect { try await change.find($0) }
    if found.isEmpty {
      console.emit(options.output, list: []) { [] }
      return console.note("nothing to retry: no failed request matches")
    }
    if bulk.dryRun {
      return console.emit(options.output, list: found.map { JSONValue($0) }) {
        found.map { "\($0.name): \(foreseen($0, under: nil))" }
      }
    }
    try change.confirm(found, console)
    let (skipping, withNewDefinition) = (skipping, withNewDefinition)
    let records = try await client.connect { api in
      try await change.each(of: found) { record in
        try await api.retry(
          record.identifier, number: record.number, skipping: skipping, withNewDefinition: withNewDefinition)
      }
    }
    console.emit(options, list: records.map { JSONValue($0) }) { records.map(Self.line) }
    guard records.count < found.count else { return }
    console.note(
      "\(counted(found.count - records.count, "request")) stayed as \(records.count + 1 == found.count ? "it was" : "they were"):"
        + " 'baton retry IDENTIFIER --request NUMBER' says why")
  }

  /// Whether the request waits for its retry, which this command makes due.
  private static func becomesDue(_ record: RequestRecord) -> Bool {
    record.waitsBecause?.kind == .backingOff && record.launches > 0
  }

  /// The definition of the request that this command would retry.
  private static func definition(
    _ identifier: JobIdentifier, _ number: Int?, _ api: any OperatorAPI
  ) async throws -> Definition? {
    let record = try await api.details(identifier, number: number, choosing: .ran).record
    return try? await api.definition(of: identifier, number: record.number).definition
  }

  /// - Parameter definition: the definition of the request, if a batch is to be skipped; `nil` if it is not known.
  private func foreseen(_ record: RequestRecord, under definition: Definition?) -> String {
    if Self.becomesDue(record) {
      if withNewDefinition {
        return "would be refused: it waits for its retry; 'baton apply FILE --refreeze' gives it the new definition"
      }
      if skipBatch, record.shards != nil {
        return "would be refused: shards of it wait for their retries, and it has not failed"
      }
    }
    if skipBatch, !withNewDefinition, record.shards == nil,
      definition?.hasBatchToSkip(after: record.progress.batches) == false
    {
      return "would be refused: its command has no 'items', and so no batch to skip"
    }
    if Self.becomesDue(record) {
      return "its retry would be due now" + (skipBatch ? ", after batch \(record.progress.batches)" : "")
    }
    if skipBatch, shard == nil, let failed = record.shards?.failed, failed > 1 {
      return "would be refused: say with --shard which of its \(failed) failed shards passes over its batch"
    }
    let batch = record.shards == nil ? "at batch \(record.progress.batches)" : "with its failed shards"
    return "would go on \(batch)" + (skipBatch ? ", without the batch that failed ('baton show' names its items)" : "")
  }

  private static func line(_ record: RequestRecord) -> String {
    "\(record.name): \(record.state.rawValue), goes on at batch \(record.progress.batches) (\(record.unitsText) done"
      + (record.skippedText.map { ", \($0)" } ?? "") + ")"
  }
}
