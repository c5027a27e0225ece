import BatonBase

/// A worker and, beside it, the process of the host's transfers. Each is started again when it dies, and neither waits
/// for the other. The pair ends with the worker.
struct SupervisedPair: Sendable {
  let worker: SupervisorShell
  /// `nil` if the host has no transfers.
  let second: SupervisorShell?
  /// How long the second process may take to stop after the worker has ended. It is killed then, and loses nothing but
  /// what it has not synced.
  var patience = Duration.seconds(10)
  var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) }

  /// - Returns: the status of the worker's supervision.
  func run(signals: some AsyncSequence<Int32, Never> & Sendable) async throws -> Int32 {
    guard let second else { return try await worker.run(signals: signals) }
    let (orders, order) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(8))
    return try await withThrowingTaskGroup(of: Int32?.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        // Transfers that cannot be started at all must not end the worker.
        _ = try? await second.run(signals: orders)
        return nil
      }
      let status = try await worker.run(signals: passing(signals, to: order))
      order.yield(SIGTERM)
      group.addTask {
        try? await sleep(patience)
        return nil
      }
      _ = try await group.next()
      return status
    }
  }

  /// The same signals. The ones that ask to stop go to the second process too. SIGHUP does not: it tells a worker to
  /// end, and the transfers end with the supervisor.
  private func passing(
    _ signals: some AsyncSequence<Int32, Never> & Sendable, to order: AsyncStream<Int32>.Continuation
  ) -> some AsyncSequence<Int32, Never> & Sendable {
    signals.map { signal in
      if signal == SIGTERM || signal == SIGINT { order.yield(SIGTERM) }
      return signal
    }
  }
}
