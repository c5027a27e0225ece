import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The options of every command that submits.
struct SubmissionOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp("JSON for the job, or @FILE; at most 64 KiB.", valueName: "json"), transform: Payload.bytes)
  var payload: [UInt8]?

  @Flag(help: "Wait until it has ended, as 'baton wait' does.") var wait = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  /// Submits the orders, writes the answers and, with `--wait`, follows the accepted requests until they have ended.
  /// - Parameters:
  ///   - accepted: requests that exist already and stand for the orders of their identifiers.
  ///   - asFlow: whether the orders are submitted as one flow.
  ///   - remark: what the line of an accepted order says besides.
  ///   - isList: whether JSON is written as one array, because the command can submit several orders.
  /// - Throws: a `CommandFailure` without a message if an order was refused or a request did not succeed.
  func submit(
    _ orders: [SubmissionOrder], accepted: [JobIdentifier: SubmissionReceipt] = [:], asFlow: Bool = false,
    remark: String? = nil,
    isList: Bool = false
  ) async throws {
    let console = Console.current
    let display = ProgressDisplay(console, to: .error, isQuiet: options.quiet, isJudged: true)
    let submitting = Submitting(
      orders: orders, accepted: accepted, asFlow: asFlow, client: client, display: display)
    let outcomes = try await submitting.run()
    console.tell(outcomes, options, remark: remark, isList: isList, awaitsEnd: wait)
    if wait { try await follow(outcomes.compactMap(\.name), display, isList: isList) }
    if let refused = outcomes.compactMap(\.refusedStatus).first { throw CommandFailure(refused) }
  }

  private func follow(_ names: [RequestName], _ display: ProgressDisplay, isList: Bool) async throws {
    guard !names.isEmpty else { return }
    let console = Console.current
    let ended = try await client.follow(names, display: display)
    if !options.output.isTable { console.emit(options.output, ended, isList: isList) }
    try console.judge(ended)
  }
}
