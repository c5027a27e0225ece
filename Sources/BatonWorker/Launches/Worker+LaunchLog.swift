import BatonModel
import BatonTelemetry
import Logging

/// The log lines about launches, at the level info: one at the start, one when the launch is asked to stop, one when its
/// handler has returned. The coordinator's lines have the same keys, so that a search for a trace id finds both.
extension Worker {
  func log(startOf assignment: Assignment) {
    logger.info("a launch began", metadata: .launch(assignment.subject))
  }

  func log(expiryOf launch: LaunchSubject, _ reason: ExpiryReason, in window: Duration) {
    logger.info(
      "a launch is asked to stop",
      metadata: .launch(
        launch,
        [Names.LogKey.expiryReason: "\(reason.code)", Names.LogKey.expiryDeadline: "\(max(window, .zero).inSeconds)"]))
  }

  func log(endOf launch: LaunchSubject, _ outcome: LaunchOutcome, isGraceful: Bool) {
    logger.info("a launch ended", metadata: .launch(launch, .end(outcome, isGraceful: isGraceful)))
  }
}
