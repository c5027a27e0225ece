import BatonHandler
import BatonTestKit
import Synchronization

/// The handler under test: it purges rows, 50 at a time. A worker registers it with
/// `worker.register(…, handler: cleanup(database))`.
func cleanup(_ database: any Database) -> Handler {
  { task in
    for try await batch in task.batches(of: Array(1...120), size: 50) {
      try await database.purge(batch)
    }
  }
}

protocol Database: Sendable {
  func purge(_ rows: ArraySlice<Int>) async throws
}

final class FakeDatabase: Database {
  private let state = Mutex(Set(1...120))

  var rows: Set<Int> { state.withLock { $0 } }

  func purge(_ rows: ArraySlice<Int>) async throws {
    for row in rows {
      interruptionPoint()  // With the batch half done, a launch may be interrupted here.
      try Task.checkCancellation()
      state.withLock { _ = $0.remove(row) }  // Purging a row that is gone changes nothing.
    }
  }
}
