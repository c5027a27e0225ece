import BatonModel
import BatonStore
import BatonTelemetry
import Logging
import Synchronization

/// The log lines about launches, at the level info: one at the start, one when the launch is asked to stop, and one at
/// its end. Each line is written after the store has committed the change, so that the log and `baton show` never
/// disagree.
extension Coordinator {
  func log(starts assignments: [Assignment]) {
    for assignment in assignments {
      logger.info("a launch began", metadata: .launch(assignment.subject, host(of: assignment.launch)))
    }
  }

  private func host(of launch: LaunchKey) -> Logger.Metadata {
    guard let host = state.withLock({ $0.core.dispatcher.places[launch] }) else { return [:] }
    return [Names.LogKey.host: "\(host)"]
  }

  func log(expiryOf launch: LaunchSubject, _ reason: ExpiryReason) {
    logger.info(
      "a launch is asked to stop", metadata: .launch(launch, [Names.LogKey.expiryReason: "\(reason.code)"]))
  }

  /// Logs the end of a lease: as a warning if it counts as a loss, and as information if the worker was stopped
  /// properly or ended itself.
  func log(endOfLease incarnation: Incarnation, _ host: HostName, countsAsLoss: Bool) {
    logger.log(
      level: countsAsLoss ? .warning : .info, "the lease of a host ended",
      metadata: [Names.LogKey.host: "\(host)", "incarnation": "\(incarnation)"])
  }

  func warn(of answer: EndingAnswer) {
    logger.warning(
      "a launch ignored its expiry, and was ended at its deadline",
      metadata: answer.subject.map { .launch($0) }
        ?? [Names.LogKey.identifier: "\(answer.identifier)", Names.LogKey.launchKey: "\(answer.launch)"])
  }

  func log(superseded checkpoints: [Checkpoint], _ answers: [CheckpointAnswer], from host: HostName) async {
    for (checkpoint, answer) in zip(checkpoints, answers) where answer == .superseded {
      await log(superseded: checkpoint, from: host)
    }
  }

  /// Logs that a launch tried to commit a batch on `host` although it has ended or runs on another host.
  private func log(superseded checkpoint: Checkpoint, from host: HostName) async {
    let metadata: Logger.Metadata = [Names.LogKey.batch: "\(checkpoint.batch)", Names.LogKey.host: "\(host)"]
    let subject = try? await subject(of: checkpoint.launch)
    logger.notice(
      "a superseded launch tried to commit",
      metadata: subject.map { .launch($0, metadata) }
        ?? metadata.merging([Names.LogKey.launchKey: "\(checkpoint.launch)"]) { $1 })
  }

  /// What the log says about a launch; nil if the store does not know the launch.
  private func subject(of launch: LaunchKey) async throws -> LaunchSubject? {
    guard let request = try await store.request(launch.request),
      let record = try await store.launches(of: launch.request).first(where: { $0.launch == launch })
    else { return nil }
    let trace = TraceContext(
      traceID: request.trace.traceID, spanID: record.spanID, isSampled: request.trace.isSampled)
    return LaunchSubject(
      identifier: request.identifier, request: request.number, launch: launch.number,
      shard: request.isSpread ? record.shard : nil, trace: trace)
  }

  /// Logs the endings that are new. An ending that the store knew before has no `launched` and is not logged again.
  func log(endsOf answers: [EndingAnswer]) {
    for answer in answers {
      guard let subject = answer.subject, let launched = answer.launched else { continue }
      logger.info(
        "a launch ended",
        metadata: .launch(subject, .end(launched.outcome, isGraceful: launched.isGraceful)))
    }
  }
}
