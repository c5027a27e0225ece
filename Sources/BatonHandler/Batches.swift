import BatonModel

extension JobTask {
  /// Returns the elements of `collection` in batches, and saves a checkpoint after each batch.
  ///
  /// ```swift
  /// for try await batch in task.batches(of: purgeable, size: 50) {
  ///   try await purge(batch)
  /// }
  /// ```
  ///
  /// The first batch of a launch begins after the last checkpoint of the request. When the loop asks for the next
  /// batch, the batch before it is committed first: the next batch is handed out when that checkpoint is durable.
  /// Therefore a launch that ends early repeats at most one batch, and no batch is skipped (promise P5). The
  /// checkpoints also report progress: elements done, of all elements.
  ///
  /// When the launch expires, the loop ends with `CancellationError`. The batch that was running is committed before
  /// that, provided that the loop's body does not throw.
  ///
  /// The loop relies on the following:
  ///
  /// - The collection is the same in every launch of the request: the same elements in the same order. The checkpoint
  ///   is an offset into the collection. If elements are added or removed at the front, batches are skipped or
  ///   repeated. No check can find that out.
  /// - If the request is divided into shards (`JobTask.shard`), the loop hands out the elements of its own shard only,
  ///   and progress counts these.
  /// - A handler has one loop over `batches`, and saves no checkpoints of its own. A request has one cursor, so a
  ///   second loop would begin at the offset at which the first one ended.
  /// - The body does its work again without harm, because a batch may run twice.
  ///
  /// `Examples/Worker/Main.swift` has a worker with a handler of this form, and `Examples/TestKit/CleanupTests.swift`
  /// tests one.
  ///
  /// - Parameters:
  ///   - collection: the work of the whole request, not of this launch only.
  ///   - size: the number of elements of a batch, 1 or more. The last batch may be shorter.
  /// - Precondition: `size` is greater than 0.
  public func batches<Elements: RandomAccessCollection & Sendable>(
    of collection: Elements, size: Int
  ) -> Batches<Elements> {
    precondition(size > 0, "a batch has at least one element")
    return Batches(task: self, collection: collection, size: size)
  }
}

/// The batches of a collection, as an asynchronous sequence. `JobTask.batches(of:size:)` makes it and says what a
/// handler can rely on.
public struct Batches<Elements: RandomAccessCollection & Sendable>: AsyncSequence, Sendable {
  /// A batch: consecutive elements of the collection.
  public typealias Element = Elements.SubSequence

  let task: JobTask
  let collection: Elements
  let size: Int

  /// Begins after the last checkpoint of the request.
  public func makeAsyncIterator() -> Iterator { Iterator(task: task, collection: collection, size: size) }

  /// Hands out the batches, and commits each batch when the next one is asked for.
  public struct Iterator: AsyncIteratorProtocol {
    let task: JobTask
    let collection: Elements
    let size: Int
    /// The number of elements that have been handed out, in earlier launches too; `nil` before the first call of
    /// `next`.
    var offset: Int?

    init(task: JobTask, collection: Elements, size: Int) {
      self.task = task
      self.collection = collection
      self.size = size
    }

    /// Commits the batch that was handed out last, and returns the next one; `nil` at the end of the collection.
    /// - Throws: `CancellationError` if the launch has expired and a batch is left; the errors of
    ///   `JobTask.checkpoint(_:version:completed:of:)`; or the errors of `JobTask.lastCheckpoint(as:version:)`, for
    ///   example if the last checkpoint is a cursor of another type.
    public mutating func next() async throws -> Elements.SubSequence? {
      let own = task.shard?.range(of: collection.count) ?? 0..<collection.count
      if let offset {
        try await task.commit(
          Commit(
            cursor: CheckpointCoding.encode(Offset(offset: offset)), completedUnits: Int64(offset),
            totalUnits: Int64(own.count)))
      } else {
        offset = try task.lastCheckpoint(as: Offset.self, version: Offset.version)?.offset ?? 0
      }
      guard let start = offset, start < own.count else { return nil }
      try Task.checkCancellation()
      if task.expiry != nil { throw CancellationError() }
      let end = Swift.min(start + size, own.count)
      offset = end
      task.runtime.batchBegins()
      return collection[
        collection.index(
          collection.startIndex, offsetBy: own.lowerBound + start)..<collection.index(
            collection.startIndex, offsetBy: own.lowerBound + end)]
    }
  }
}

/// The cursor that `Batches` saves: the number of elements that are done.
struct Offset: Codable {
  static let version = 1
  var offset: Int
}
