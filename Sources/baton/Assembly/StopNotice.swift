import BatonWire
import ServiceLifecycle

/// A service that prints a notice as soon as a signal asks the process to stop: that the process is stopping, and what
/// happens to running work. Without it, Ctrl-C seems to have no effect during the seconds in which running batches
/// finish.
struct StopNotice: Service {
  let text: String

  /// Prints the notice and returns when the shutdown begins. Services that were started before this one are shut down
  /// after it.
  func run() async throws {
    let (stopping, continuation) = AsyncStream<Void>.makeStream()
    await withGracefulShutdownHandler {
      for await _ in stopping {}
    } onGracefulShutdown: {
      StandardError.say("baton: \(text)")
      continuation.finish()
    }
  }

  static let coordinator = StopNotice(
    text: "stopping; running launches continue on their workers, and the coordinator takes them over if it restarts "
      + "within the lease term")
  static let up = StopNotice(
    text: "stopping; running batches may finish within their closing window and are checkpointed; the next start "
      + "resumes after them")
}
