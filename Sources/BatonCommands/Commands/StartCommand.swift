import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct StartCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "start",
    abstract: "Run a job now, before its schedule.",
    discussion: """
      A request that waits for its retry is tried again now, and no other request is submitted. Otherwise the request \
      that waits for its time becomes due now, with its payload and its priority; if none waits, one is submitted. The \
      schedule of a job with 'repeat' stays: its next requests come at the times at which they would have come anyway. \
      The conditions of the hosts count as always: 'baton explain' says what keeps it from starting. If the job runs \
      already, or --payload is given, the request starts after the one that runs or waits for its retry.

      Exit status as 'baton submit'.

      Examples:
        baton start com.example.backup
        baton start com.example.backup --wait && echo done
        baton start com.example.photos.export.42 --payload '{"album": 42}'
      """)

  @Argument(
    help: "The identifier; a pattern cannot be started.", completion: .identifiers, transform: Arguments.identifier)
  var identifier: JobIdentifier

  @OptionGroup var submission: SubmissionOptions

  func run() async throws {
    let environment = CommandEnvironment.current
    let command = self
    let present = try await submission.client.connect { try await command.present($0) }
    let order = SubmissionOrder(
      id: environment.drawSubmissionID(), identifier: identifier,
      payload: submission.payload ?? present.waiting?.payload, earliestBeginDate: .afterSubmission(.zero),
      priority: present.waiting?.priority, parent: environment.submitterSpan)
    guard let resumed = present.resumed else { return try await submission.submit([order]) }
    try await submission.submit(
      [order], accepted: [identifier: SubmissionReceipt(resuming: resumed)], remark: present.remark)
  }

  /// What a start finds of the identifier.
  private struct Present: Sendable {
    /// The request that waits for its first launch, which the submission replaces; `nil` if there is none.
    var waiting: RequestRecord?
    /// The request between two launches that goes on now, so that nothing is submitted; `nil` if there is none.
    var resumed: RequestRecord?
    /// What is said of `resumed`.
    var remark: String?
  }

  private func present(_ api: any OperatorAPI) async throws -> Present {
    do {
      let details = try await api.details(identifier, number: nil, choosing: .ran)
      let record = details.record
      guard record.state.isPending else { return Present(waiting: details.waiting) }
      if record.launches == 0 { return Present(waiting: details.waiting ?? record) }
      guard submission.payload == nil else { return Present(waiting: details.waiting) }
      return try await resume(record, api) ?? Present(waiting: details.waiting)
    } catch OperatorError.notFound {
      return Present()
    }
  }

  /// Makes the retry of a request due.
  /// - Returns: `nil` if it waits for something else than its retry or a host.
  private func resume(_ record: RequestRecord, _ api: any OperatorAPI) async throws -> Present? {
    if record.state == .ready {
      return Present(
        resumed: record, remark: "it was due already: 'baton explain \(identifier)' says what keeps it from starting")
    }
    guard record.waitsBecause?.kind == .backingOff else { return nil }
    let retried = try await api.retry(identifier, number: record.number, skipping: .nothing, withNewDefinition: false)
    return Present(resumed: retried, remark: "the retry that it waited for is due now")
  }
}

extension SubmissionReceipt {
  /// The answer to a start that submitted nothing: the request goes on.
  fileprivate init(resuming record: RequestRecord) {
    self.init(
      request: record.id, identifier: record.identifier, number: record.number, state: record.state,
      eligibleAt: record.eligibleAt, replaced: false, traceID: record.trace.traceID)
  }
}
