extension JobTask {
  /// The elements of `collection` in batches, from the last checkpoint on. Asking for the next batch makes the one
  /// before durable first, so that at most one batch is repeated, whatever is killed.
  ///
  /// Once the launch expires, the batch that was running is still committed and then `CancellationError` is thrown.
  /// The collection must be the same in every launch of the request: same elements, same order.
  /// - Parameter size: elements per batch, 1 or more.
  public func batches<Elements: RandomAccessCollection & Sendable>(
    of collection: Elements, size: Int
  ) -> Batches<Elements> {
    precondition(size > 0, "a batch has at least one element")
    return Batches(task: self, collection: collection, size: size)
  }
}

/// See `JobTask.batches(of:size:)`.
public struct Batches<Elements: RandomAccessCollection & Sendable>: AsyncSequence, Sendable {
  public typealias Element = Elements.SubSequence

  let task: JobTask
  let collection: Elements
  let size: Int

  public func makeAsyncIterator() -> Iterator { Iterator(task: task, collection: collection, size: size) }

  public struct Iterator: AsyncIteratorProtocol {
    let task: JobTask
    let collection: Elements
    let size: Int
    /// Elements handed out so far, nil before the first batch.
    var offset: Int?

    init(task: JobTask, collection: Elements, size: Int) {
      self.task = task
      self.collection = collection
      self.size = size
    }

    /// - Throws: `CancellationError` once the launch expires, or what `JobTask.checkpoint` throws.
    public mutating func next() async throws -> Elements.SubSequence? {
      if let offset {
        try await task.checkpoint(Offset(offset: offset), completed: Int64(offset), of: Int64(collection.count))
      } else {
        offset = try task.lastCheckpoint(as: Offset.self)?.offset ?? 0
      }
      guard let start = offset, start < collection.count else { return nil }
      try Task.checkCancellation()
      if task.expiry != nil { throw CancellationError() }
      let end = Swift.min(start + size, collection.count)
      offset = end
      task.runtime.batchBegins()
      return collection[
        collection.index(
          collection.startIndex, offsetBy: start)..<collection.index(
            collection.startIndex, offsetBy: end)]
    }
  }
}

private struct Offset: Codable {
  var offset: Int
}
