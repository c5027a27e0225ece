import Dispatch
import Synchronization

/// Waits for descriptors without blocking a thread. The descriptors must stay open until the wait has returned.
package enum Readiness {
  /// Returns when `reading` has data, when `writing` has room, or when the task is cancelled.
  package static func wait(reading: Int32, writing: Int32? = nil) async {
    let sources = Sources(reading: reading, writing: writing)
    await withTaskCancellationHandler {
      await withCheckedContinuation { sources.activate($0) }
    } onCancel: {
      sources.cancel()
    }
  }
}

/// One-shot event sources that are cancelled together.
///
/// `@unchecked Sendable`: the sources are made in `init` and afterwards only activated and cancelled, which Dispatch
/// allows from any thread.
private final class Sources: @unchecked Sendable {
  private let sources: [any DispatchSourceProtocol]
  private let group = DispatchGroup()

  init(reading: Int32, writing: Int32?) {
    let read = DispatchSource.makeReadSource(fileDescriptor: reading, queue: Self.queue)
    let write = writing.map { DispatchSource.makeWriteSource(fileDescriptor: $0, queue: Self.queue) }
    sources = [read] + (write.map { [$0] } ?? [])
  }

  private static let queue = DispatchQueue(label: "baton.readiness")

  func activate(_ continuation: CheckedContinuation<Void, Never>) {
    for source in sources {
      group.enter()
      source.setEventHandler { [self] in cancel() }
      // Dispatch uses the descriptor until the cancel handler runs.
      source.setCancelHandler { [group] in group.leave() }
    }
    group.notify(queue: Self.queue) { continuation.resume() }
    for source in sources { source.activate() }
  }

  func cancel() {
    for source in sources { source.cancel() }
  }
}
