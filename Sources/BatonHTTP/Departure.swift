import BatonBase
import NIOCore
import NIOHTTPTypes
import ServiceLifecycle
import Synchronization

/// Notices that the client of a connection has gone away, so that a call that waits for something need not wait on.
///
/// The server of Hummingbird has a call for this too (`consumeWithCancellationOnInboundClose`). It reads the body of
/// the request to its end, and ends the process if that was done before.
final class Departure: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPRequestPart

  private struct State {
    var hasLeft = false
    /// Raised when the client leaves. A connection carries one call at a time.
    var signal: Signal?
  }

  private let state = Mutex(State())

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The client sends nothing more.
    if case .inputClosed? = event as? ChannelEvent { left() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    left()
    context.fireChannelInactive()
  }

  private func left() {
    state.withLock { state in
      state.hasLeft = true
      return state.signal
    }?.raise()
  }

  /// Returns when the client has gone away, or when the task is cancelled.
  fileprivate func wait() async {
    let signal = Signal()
    let hasLeft = state.withLock { state in
      state.signal = signal
      return state.hasLeft
    }
    if !hasLeft { await signal.wait() }
  }
}

extension HTTPContext {
  /// Runs `body`, and cancels it when the client has gone away. One task of a call may do this at a time.
  /// - Throws: the error of `body`, or `CancellationError` after the client has gone.
  package func whileConnected<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let departure = try await channel.pipeline.handler(type: Departure.self).get()
    return try await withThrowingTaskGroup(of: Result.self) { group in
      group.addTask { try await body() }
      group.addTask {
        await departure.wait()
        throw CancellationError()
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { preconditionFailure("a group with two tasks has a result") }
      return result
    }
  }

  /// Runs `body`, and cancels it when the server shuts down. Otherwise a stream that has no end would keep the server
  /// from ending.
  package func whileServing<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await cancelWhenGracefulShutdown(body)
  }
}
