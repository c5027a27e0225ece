public import BatonModel

/// The code that runs when a request of its identifier is launched.
public typealias Handler = @Sendable (JobTask) async throws -> Void

/// The code of a refresh that says what it found. Returning is completion; `.failed` is failure, the same as throwing.
/// One that finds nothing again and again comes less often, up to four times its interval.
public typealias RefreshHandler = @Sendable (JobTask) async throws -> RefreshResult

/// A handler that says what `handler` found, and returns. The store decides what `.failed` comes to.
package func refreshing(_ handler: @escaping RefreshHandler) -> Handler {
  { task in task.runtime.conclude(try await handler(task)) }
}
