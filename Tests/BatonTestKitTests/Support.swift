import BatonHandler
import Synchronization

/// Records the pages that the handlers of these tests have done, in order.
final class Notes: Sendable {
  private let pages = Mutex<[Int]>([])

  var all: [Int] { pages.withLock { $0 } }

  func append(_ page: Int) { pages.withLock { $0.append(page) } }
}

struct Position: Codable, Equatable {
  var page: Int
}

struct Trouble: Error, CustomStringConvertible {
  var description: String { "trouble" }
}

/// Returns a correct handler that saves a cursor of its own. One page is one batch.
func pages(
  _ count: Int, _ notes: Notes = Notes(), _ work: @escaping @Sendable (Int, JobTask) async throws -> Void = { _, _ in }
) -> Handler {
  { task in
    var page = try task.lastCheckpoint(as: Position.self)?.page ?? 0
    while page < count {
      try Task.checkCancellation()
      notes.append(page)
      try await work(page, task)
      page += 1
      try await task.checkpoint(Position(page: page), completed: Int64(page), of: Int64(count))
    }
  }
}

/// Returns a correct handler like `pages`, which uses `JobTask.batches`. One page is one batch.
func batches(_ count: Int, _ notes: Notes = Notes()) -> Handler {
  { task in
    for try await batch in task.batches(of: Array(0..<count), size: 1) {
      for page in batch { notes.append(page) }
    }
  }
}

/// Returns a handler that never checks whether it should stop.
func heedless(_ count: Int, _ notes: Notes = Notes()) -> Handler {
  { task in
    for page in (try task.lastCheckpoint(as: Position.self)?.page ?? 0)..<count {
      notes.append(page)
      try await task.checkpoint(Position(page: page + 1))
    }
  }
}
