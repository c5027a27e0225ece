import BatonModel
import BatonStore
import BatonTelemetry
import Logging
import Synchronization

/// The log lines about launches, at the level info: one at the start, one when the launch is asked to stop, one at its end.
/// Each is written after the store has committed what it says, so that a line and `baton show` never disagree.
extension Coordinator {
  func log(starts assignments: [Assignment]) {
    for assignment in assignments {
      logger.info("a launch began", metadata: .launch(assignment.subject, host(of: assignment.launch)))
    }
  }

  private func host(of launch: LaunchKey) -> Logger.Metadata {
    guard let host = state.withLock({ $0.dispatcher.places[launch] }) else { return [:] }
    return [Names.LogKey.host: "\(host)"]
  }

  func log(expiryOf launch: LaunchSubject, _ reason: ExpiryReason) {
    logger.info(
      "a launch is asked to stop", metadata: .launch(launch, [Names.LogKey.expiryReason: "\(reason.code)"]))
  }

  /// An ending that was known before is not said again.
  func log(endsOf answers: [EndingAnswer]) {
    for answer in answers {
      guard let subject = answer.subject, let launched = answer.launched else { continue }
      logger.info(
        "a launch ended",
        metadata: .launch(subject, .end(launched.outcome, isGraceful: launched.isGraceful)))
    }
  }
}
