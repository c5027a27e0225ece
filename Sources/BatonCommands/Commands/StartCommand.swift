import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct StartCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "start",
    abstract: "Run a job now, before its schedule.",
    discussion: """
      The request that waits for its time becomes due now, with its payload and its priority; if none waits, one is \
      submitted. The schedule of a job with 'repeat' stays: its next requests come at the times at which they would \
      have come anyway. The conditions of the hosts count as always: 'baton explain' says what keeps it from starting. \
      If the job runs already, the request starts after it.

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
    let waiting = try await submission.client.connect { try await command.waiting($0) }
    try await submission.submit([
      SubmissionOrder(
        id: environment.drawSubmissionID(), identifier: identifier, payload: submission.payload ?? waiting?.payload,
        earliestBeginDate: .afterSubmission(.zero), priority: waiting?.priority, parent: environment.submitterSpan)
    ])
  }

  /// The request that waits for its first launch, which the submission replaces; nil if there is none.
  private func waiting(_ api: any OperatorAPI) async throws -> RequestRecord? {
    do {
      let details = try await api.details(identifier, number: nil, choosing: .ran)
      if let waiting = details.waiting { return waiting }
      return details.record.launches == 0 && details.record.state.isPending ? details.record : nil
    } catch OperatorError.notFound {
      return nil
    }
  }
}
