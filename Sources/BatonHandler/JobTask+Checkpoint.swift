import BatonModel

extension JobTask {
  /// Saves a cursor of the handler's own, and returns when the store has it on disk.
  ///
  /// ```swift
  /// var position = try task.lastCheckpoint(as: Position.self) ?? Position(page: 0)
  /// while position.page < settings.pages {
  ///   try Task.checkCancellation()
  ///   // … the work of one page …
  ///   position.page += 1
  ///   try await task.checkpoint(position, completed: Int64(position.page), of: Int64(settings.pages))
  /// }
  /// ```
  ///
  /// Each call ends a batch: what the handler did since the checkpoint before. After this method has returned, no
  /// launch of the request gets an older cursor (promise P2). Work after the last checkpoint is repeated by the next
  /// launch, so do not record work as done before this method returns.
  ///
  /// Cancellation does not interrupt this method: within the closing window of an expiry the handler can still save
  /// what it has done. While the coordinator is away, the method waits for it to come back. It throws if the deadline
  /// of an expiry comes first.
  ///
  /// For the elements of a collection use `batches(of:size:)`, which calls this method. `Examples/Worker/Main.swift`
  /// and `Examples/TestKit/Importer.swift` have handlers with a cursor of their own.
  ///
  /// - Parameters:
  ///   - cursor: the handler's position, encoded as JSON of at most 1 MiB. Keep data in files or in a database, and
  ///     only the position here.
  ///   - version: the version of the cursor's type, 1 by default. Raise it when the meaning of the type changes, so
  ///     that `lastCheckpoint(as:version:)` does not decode bytes of the old meaning.
  ///   - completed: the number of units that are done in the whole request, for people who watch; `nil` keeps the last
  ///     value.
  ///   - total: the number of units in all; `nil` keeps the last value.
  /// - Throws: `HandlerError` with the code `.superseded` if this launch can save nothing more, or with the code
  ///   `.checkpointRefused` if the checkpoint was refused, for example because it has more than 1 MiB. `EncodingError`
  ///   if the cursor cannot be encoded. Nothing is saved in any of these cases, with one exception: a worker that loses
  ///   its connection cannot know whether the store has taken its last checkpoint.
  public func checkpoint<Cursor: Encodable>(
    _ cursor: Cursor, version: Int = 1, completed: Int64? = nil, of total: Int64? = nil
  ) async throws {
    let bytes = try CheckpointCoding.encode(cursor, version: version)
    let last = runtime.progress
    try await commit(
      Commit(
        cursor: bytes, completedUnits: completed ?? last.completedUnits, totalUnits: total ?? last.totalUnits))
  }

  /// Returns the cursor of the request's last durable checkpoint, which this launch or an earlier one saved; `nil` if
  /// the request has no checkpoint yet.
  ///
  /// Call it at the start of the handler, and begin there. A handler that begins at the front in each launch repeats
  /// all of its work after each interruption; `TestRequest.checkEveryInterruption` of BatonTestKit finds this mistake.
  /// `Examples/Worker/Main.swift` has a sample.
  ///
  /// - Parameters:
  ///   - type: the type that was passed to `checkpoint(_:version:completed:of:)`.
  ///   - version: the version that was passed there. A program that raises the version should still read the old
  ///     version for as long as requests with such a checkpoint are live.
  /// - Throws: `HandlerError` with the code `.otherVersion` if the checkpoint was saved with another version.
  ///   `DecodingError` if the checkpoint does not fit the type.
  public func lastCheckpoint<Cursor: Decodable>(as type: Cursor.Type, version: Int = 1) throws -> Cursor? {
    guard let bytes = runtime.progress.cursor else { return nil }
    return try CheckpointCoding.decode(type, version: version, from: bytes, of: identifier)
  }
}
