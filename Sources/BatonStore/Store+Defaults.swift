package import BatonModel

extension Store {
  /// Grants a lease to a worker without a secret.
  @discardableResult
  package func grantLease(
    _ host: HostName, _ incarnation: Incarnation, report: HostWord?, at now: Moment
  ) async throws -> LeaseGrant {
    try await grantLease(host, incarnation, link: 0, secret: nil, report: report, at: now)
  }

  /// Records that the coordinator asked a launch to stop.
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, at now: Moment
  ) async throws -> LaunchSubject? {
    try await noteExpiry(launch, reason, from: nil, under: nil, at: now)
  }

  /// Records that a worker asked its launch to stop.
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess, at now: Moment
  ) async throws -> LaunchSubject? {
    try await noteExpiry(launch, reason, from: process, under: nil, at: now)
  }

  /// Ends launches that have saved their last checkpoint before.
  package func end(
    _ endings: [Ending], from process: WorkerProcess, at now: Moment
  ) async throws -> [EndingAnswer] {
    try await end(endings, after: [], from: process, at: now)
  }

  /// Retries a failed request under the definition that it has.
  package func retry(_ request: RequestID, skipping: SkippedBatch, at now: Moment) async throws -> RequestRecord {
    try await retry(request, skipping: skipping, as: nil, at: now)
  }

  /// Cancels requests without a history of what kept them waiting.
  package func cancel(
    _ selection: RequestSelection, by principal: String, at now: Moment
  ) async throws -> [Cancellation] {
    try await cancel(selection, by: principal, histories: [:], at: now)
  }
}

extension Store {
  /// The last 64 KiB of a launch's output.
  package func output(of launch: LaunchKey) async throws -> [UInt8] {
    try await outputPieces(of: launch).flatMap(\.bytes)
  }
}
