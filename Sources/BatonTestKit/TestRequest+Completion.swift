public import BatonHandler
import BatonModel
import Synchronization

extension TestRequest {
  /// The limit for `complete`. A request that needs more launches than this never ends.
  static let maximumLaunches = 1_000

  /// Launches the request again and again until it has succeeded, each launch from the last checkpoint.
  ///
  /// ```swift
  /// try await request.complete(cleanup(database))
  /// ```
  ///
  /// A coordinator does the same. In contrast to a coordinator the kit never waits between two launches, so retries and
  /// losses have no backoff. A failed launch ends the request, unless the request has `retries`. The samples are in
  /// `Examples/TestKit/CleanupTests.swift`.
  /// - Parameters:
  ///   - handler: the handler under test. Every launch calls the same closure, so what it captures lives on over all
  ///     launches, in contrast to the memory of a worker's process.
  ///   - interruptions: what happens on the way, in this order, at most one for each launch. If a launch does not reach
  ///     its interruption, the next launch gets it.
  /// - Throws: `TestKitError`, with the code `.notCompleted` if the request fails or is cancelled, `.endless` if it
  ///   never ends, `.interruptionNotReached` if it succeeds before all interruptions have happened, or `.notLaunchable`
  ///   or `.invalidRequest` as in `launch(_:interruptedBy:)`. `CancellationError` if the test is cancelled.
  public func complete(_ handler: @escaping Handler, interruptedBy interruptions: Interruption...) async throws {
    state.withLock { $0.planned += interruptions }
    while completion == nil { try await launchAgain(handler) }
    try requireSuccess()
    try requireNothingPlanned()
  }

  /// Launches the request until it has succeeded, with a handler that returns what it found. It throws the same errors
  /// as `complete(_:interruptedBy:)`. A refresh that returns `.failed` has failed.
  public func completeRefresh(
    _ handler: @escaping RefreshHandler, interruptedBy interruptions: Interruption...
  ) async throws {
    state.withLock { $0.planned += interruptions }
    try await complete(refreshing(handler))
  }

  private func launchAgain(_ handler: @escaping Handler) async throws {
    guard launches.count < Self.maximumLaunches else {
      throw TestKitError(
        .endless,
        "\(settings.identifier) was launched \(Self.maximumLaunches) times and has not ended: does its handler begin "
          + "at its last checkpoint?")
    }
    try await launch(handler)
  }

  func requireSuccess() throws {
    let history =
      "; \(counted(launches.count, "launch", plural: "launches")), the last one '\(launches.last?.outcome.text ?? "")'"
    switch completion {
    case .succeeded?: return
    case .failed(let text)?: throw notCompleted("failed: \(text)\(history)")
    case .cancelled(let by)?: throw notCompleted("was cancelled by \(by)\(history)")
    case nil: throw notCompleted("has not ended; call 'complete', or 'launch' until it has\(history)")
    }
  }

  private func notCompleted(_ what: String) -> TestKitError {
    TestKitError(.notCompleted, "the request of \(settings.identifier) \(what)")
  }

  func requireNothingPlanned() throws {
    guard let missed = state.withLock({ $0.planned.first }) else { return }
    throw notReached(missed, "the request ended before that")
  }
}

extension TestLaunch.Outcome {
  /// A text such as `expired: hostBusy`.
  var text: String {
    switch self {
    case .finished: "finished"
    case .failed(let text): "failed: \(text)"
    case .expired(let reason): "expired: \(reason.code)"
    case .lost: "lost"
    }
  }
}
