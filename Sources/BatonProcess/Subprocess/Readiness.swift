import BatonBase
import CBatonProcess
import Dispatch
import Synchronization

/// Waits for descriptors without blocking a thread. The descriptors must stay open until the wait has returned.
package enum Readiness {
  /// Returns when `reading` has data, when `writing` has room, or when the task is cancelled.
  package static func wait(reading: Int32, writing: Int32? = nil) async {
    let answer = FirstAnswer<Void>()
    let watches =
      [DescriptorWatch(reading) { answer.ends() }]
      + (writing.map { [DescriptorWatch($0, forWriting: true) { answer.ends() }] } ?? [])
    await withTaskCancellationHandler {
      await answer.value
    } onCancel: {
      answer.give(())
    }
    for watch in watches { watch.end() }
  }
}

extension FirstAnswer<Void> {
  /// Gives the answer. Returns `false`: there is nothing more to watch.
  fileprivate func ends() -> Bool {
    give(())
    return false
  }
}

/// Calls a function each time a descriptor is ready, until the function returns `false` or `end` is called.
///
/// All calls come from one thread, which must not wait in them. On Linux that thread waits in epoll(7); elsewhere it is
/// Dispatch's.
final class DescriptorWatch: Sendable {
  private let descriptor: Int32
  /// The function; `nil` when nothing is watched any more. The lock is held during each call, and until the descriptor
  /// is not watched any more: afterwards its number may belong to another file, which another watch has.
  private let body: Mutex<(@Sendable () -> Bool)?>
  #if os(Linux)
    private let number: UInt64
  #else
    private let source: Mutex<(any DispatchSourceProtocol)?>
  #endif

  /// - Parameters:
  ///   - descriptor: must stay open until `end` has returned.
  ///   - forWriting: whether to watch for room; otherwise for data, or the end of the data.
  init(_ descriptor: Int32, forWriting: Bool = false, _ body: @escaping @Sendable () -> Bool) {
    self.descriptor = descriptor
    self.body = Mutex(body)
    #if os(Linux)
      number = Poller.shared.number()
      Poller.shared.add(self, forWriting: forWriting)
    #else
      source = Mutex(nil)
      watchWithDispatch(forWriting: forWriting)
    #endif
  }

  /// Ends the watch. When this has returned, the function is not running and is not called any more. Call it before the
  /// descriptor is closed, also after the function has returned `false`, and never from within the function.
  func end() { body.withLock { if $0.take() != nil { stop() } } }

  private func call() {
    body.withLock { body in
      guard let function = body, !function() else { return }
      body = nil
      stop()
    }
  }
}

#if os(Linux)
  extension DescriptorWatch {
    private func stop() { Poller.shared.remove(number, descriptor) }

    /// The thread that waits for all watched descriptors of this process.
    private final class Poller: Sendable {
      static let shared = Poller()

      private let poller: Int32
      private let state = Mutex(State())

      private struct State {
        var watches: [UInt64: DescriptorWatch] = [:]
        var last: UInt64 = 0
      }

      private init() {
        poller = baton_poller_make()
        precondition(poller >= 0, "no epoll: \(SystemCall.explanation(of: errno))")
        DispatchQueue(label: "baton.readiness").async { [self] in run() }
      }

      /// A number that no other watch has.
      func number() -> UInt64 {
        state.withLock { state in
          state.last += 1
          return state.last
        }
      }

      func add(_ watch: DescriptorWatch, forWriting: Bool) {
        state.withLock { $0.watches[watch.number] = watch }
        let code = baton_poller_add(poller, watch.descriptor, forWriting ? 1 : 0, watch.number)
        // A regular file cannot be watched. It is always ready.
        if code != 0 { watch.call() }
      }

      func remove(_ number: UInt64, _ descriptor: Int32) {
        let removed = state.withLock { $0.watches.removeValue(forKey: number) }
        if removed != nil { baton_poller_remove(poller, descriptor) }
      }

      private func run() {
        var numbers = [UInt64](repeating: 0, count: 64)
        while true {
          let count = Int(baton_poller_wait(poller, &numbers, Int32(numbers.count)))
          precondition(count >= 0, "cannot wait: \(SystemCall.explanation(of: errno))")
          let ready = state.withLock { state in numbers[..<count].compactMap { state.watches[$0] } }
          for watch in ready { watch.call() }
        }
      }
    }
  }
#else
  extension DescriptorWatch {
    private static let queue = DispatchQueue(label: "baton.readiness")

    private func watchWithDispatch(forWriting: Bool) {
      let made: any DispatchSourceProtocol =
        forWriting
        ? DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: Self.queue)
        : DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue)
      made.setEventHandler { [self] in call() }
      source.withLock { $0 = made }
      made.activate()
    }

    private func stop() { source.withLock { $0.take() }?.cancel() }
  }
#endif
