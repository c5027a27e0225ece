public import BatonHandler
import BatonModel
import Synchronization

extension TestRequest {
  /// No work of a test takes more.
  static let maximumLaunches = 1_000

  /// Launches the request until it has succeeded, as a coordinator would.
  /// - Parameter interruptions: what happens on the way, in this order, at most one to a launch. One that a launch does
  ///   not reach waits for the next.
  /// - Throws: `TestKitError` if the request fails, is cancelled or never ends, or if an interruption was left over.
  public func complete(_ handler: @escaping Handler, interruptedBy interruptions: Interruption...) async throws {
    state.withLock { $0.planned += interruptions }
    while completion == nil { try await launchAgain(handler) }
    try requireSuccess()
    try requireNothingPlanned()
  }

  /// The same with a handler of a refresh that says what it found.
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
  /// Such as `expired: hostBusy`.
  var text: String {
    switch self {
    case .finished: "finished"
    case .failed(let text): "failed: \(text)"
    case .expired(let reason): "expired: \(reason.code)"
    case .lost: "lost"
    }
  }
}
