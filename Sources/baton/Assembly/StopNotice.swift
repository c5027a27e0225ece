import BatonWire
import ServiceLifecycle

/// Says, as soon as a signal asks the process to stop, that it stops and what becomes of running work: without it the
/// seconds in which batches finish look as if Ctrl-C had not been noticed.
struct StopNotice: Service {
  let text: String

  /// Ends when the stop begins; services that were started before it stop after it.
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
