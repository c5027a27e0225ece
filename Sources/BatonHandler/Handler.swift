public import BatonModel

/// The code that runs when a request is launched.
///
/// A worker registers a handler for an identifier with `Worker.register(_:handler:)`. The handler gets a `JobTask`, its
/// view of the launch. How it ends decides what becomes of the request:
///
/// - It returns: the request has succeeded, even if the launch was asked to stop before.
/// - It throws after the launch was asked to stop: the launch has expired. The request goes on in a later launch, and
///   the expiry uses up no retry.
/// - It throws otherwise: the launch has failed. The definition's `retry` says how often the request is launched again.
///
/// Handlers of several launches run at the same time, in one process. A handler must heed the cancellation of its task.
/// One that does not holds its host beyond the deadline, or costs the whole process; see
/// `WorkerConfiguration.endsProcessOnOverrun`.
///
/// `Examples/Worker/Main.swift` registers two handlers; `Examples/TestKit` has handlers with their tests.
public typealias Handler = @Sendable (JobTask) async throws -> Void

/// The code of a refresh that reports what it found. A worker registers it with `Worker.registerRefresh(_:handler:)`.
///
/// `.newData` and `.noData` complete the launch. `.failed` means the same as throwing an error. A refresh that
/// repeatedly returns `.noData` starts less often, with up to four times its interval.
///
/// It follows the same rules as a `Handler` otherwise. `Examples/TestKit/NewsTests.swift` has one with its test.
public typealias RefreshHandler = @Sendable (JobTask) async throws -> RefreshResult

/// Returns a handler that runs `handler` and records its result. The handler returns for each result, `.failed`
/// included: the store turns that result into a failure when it records the end of the launch.
package func refreshing(_ handler: @escaping RefreshHandler) -> Handler {
  { task in task.runtime.conclude(try await handler(task)) }
}
