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
    text: "stopping; running launches go on at their workers and are found again when the coordinator is back within "
      + "its lease")
  static let up = StopNotice(
    text: "stopping; running batches may finish within their closing window and are saved, and the next start goes on "
      + "from there")
}
