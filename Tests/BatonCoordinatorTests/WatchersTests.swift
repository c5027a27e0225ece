import BatonBase
import BatonModel
import Testing

@testable import BatonCoordinator

/// How people who follow a request hear that it changed.
@Suite(.timeLimit(.minutes(10))) struct WatchersTests {
  private let request = RequestID(1)

  @Test func `a watcher that leaves takes no other watcher of the request with it`() async {
    let watchers = Watchers()
    await watchers.watching(request) { signal in
      await watchers.watching(request) { _ in }
      watchers.changed(request)
      await signal.wait()
    }
  }

  @Test func `a change is told to all watchers of the request`() async {
    let watchers = Watchers()
    await watchers.watching(request) { one in
      await watchers.watching(request) { other in
        watchers.changed(request)
        await one.wait()
        await other.wait()
      }
    }
  }
}
