import BatonModel
import Synchronization

/// Values that are costly to make: each is made once in a while at most, however many people look at it.
final class Shared<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    var madeAt: Timestamp
    var task: Task<Value, any Error>
  }

  /// For how long a value serves.
  private let age: Duration
  /// The most keys that are kept.
  private static var most: Int { 64 }

  private let entries = Mutex<[Key: Entry]>([:])

  init(for age: Duration = .seconds(1)) { self.age = age }

  /// The value of a key: the one that was made last, while it serves, or a new one. Who asks while it is made waits for
  /// the same one.
  /// - Throws: the error of `make`, which the next call tries again.
  func value(
    of key: Key, at now: Timestamp, _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = entries.withLock { entries in
      if let entry = entries[key], entry.madeAt <= now, now < entry.madeAt + age { return entry.task }
      entries = entries.filter { now < $0.value.madeAt + age }
      if entries.count >= Self.most { entries.removeAll() }
      let task = Task { try await make() }
      entries[key] = Entry(madeAt: now, task: task)
      return task
    }
    do { return try await task.value } catch {
      entries.withLock { entries in if entries[key]?.task == task { entries[key] = nil } }
      throw error
    }
  }
}
