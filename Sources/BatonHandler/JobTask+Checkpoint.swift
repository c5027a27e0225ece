import BatonModel

extension JobTask {
  /// Saves a cursor of the handler's own, and returns when it is durable: the next launch begins there.
  /// - Parameters:
  ///   - version: raise it when the type's meaning changes; a checkpoint of another version is not decoded.
  ///   - completed: units done, for progress; the last value stays if nil.
  ///   - total: units in all, if that is known.
  /// - Throws: `HandlerError` with code `.superseded` if another launch of this request is live by now, or
  ///   `.checkpointRefused` if the store does not take it (over 1 MiB by default). Nothing is saved then.
  public func checkpoint<Cursor: Encodable>(
    _ cursor: Cursor, version: Int = 1, completed: Int64? = nil, of total: Int64? = nil
  ) async throws {
    let bytes = try CheckpointCoding.encode(cursor, version: version)
    let last = runtime.progress
    try await runtime.commit(
      Commit(
        cursor: bytes, completedUnits: completed ?? last.completedUnits, totalUnits: total ?? last.totalUnits))
  }

  /// The last durable checkpoint, nil at a first launch.
  /// - Throws: `HandlerError` with code `.otherVersion` if it was saved with another `version`.
  public func lastCheckpoint<Cursor: Decodable>(as type: Cursor.Type, version: Int = 1) throws -> Cursor? {
    guard let bytes = runtime.progress.cursor else { return nil }
    return try CheckpointCoding.decode(type, version: version, from: bytes, of: identifier)
  }
}
