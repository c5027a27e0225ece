package import BatonModel

extension Verbs {
  package func prune(_ limits: RetentionLimits, at now: Moment) throws -> Bool {
    let step = max(1, limits.step)
    let old = try deleteEnded(before: now.date + (.zero - limits.endedFor), limit: step)
    let beyond = old < step ? try deleteBeyond(limits.endedCount, limit: step - old) : 0
    let submissions = try deleteSubmissions(before: now.steady + (.zero - limits.submissionsFor), limit: step)
    return old + beyond == step || submissions == step
  }

  private func deleteEnded(before date: Timestamp, limit: Int) throws -> Int {
    try delete(try prepare(.endedBefore).all(date, limit, row: Self.ended))
  }

  private func deleteBeyond(_ kept: Int, limit: Int) throws -> Int {
    try flush()
    let ended = try prepare(.endedCount).first { $0.int(0) } ?? 0
    guard ended > kept else { return 0 }
    return try delete(try prepare(.oldestEnded).all(min(limit, ended - kept), row: Self.ended))
  }

  /// Launches, progress, payload, events, items and output go with the request.
  /// What still has to be sent stays: the oldest wait longest, so they are what is in the way, and the next step would
  /// find the same ones.
  private func delete(_ requests: [(id: Int64, definition: DefinitionID, state: RequestState)]) throws -> Int {
    let requests = try requests.filter { try prepare(.hasUnsent).first($0.id) { _ in true } == nil }
    for request in requests {
      try prepare(.deleteRequest).run(request.id)
      try count(pattern: try knownDefinition(request.definition).pattern, from: request.state, to: nil)
    }
    return requests.count
  }

  /// In the order they came in, by their age on the steady clock.
  private func deleteSubmissions(before time: Timestamp, limit: Int) throws -> Int {
    let oldest = try prepare(.oldestSubmissions).all(limit) { row in (id: row.int64(0), at: row.time(1)) }
    let old = oldest.filter { $0.at < time }
    for submission in old { try prepare(.deleteSubmission).run(submission.id) }
    return old.count
  }

  private static func ended(_ row: Columns) -> (id: Int64, definition: DefinitionID, state: RequestState) {
    (row.int64(0), DefinitionID(row.int64(1)), RequestState(code: row.int(2)))
  }
}

extension Query {
  static let endedBefore = Query(
    "SELECT id, definition, state FROM request WHERE ended_at < ? AND ended_at IS NOT NULL ORDER BY ended_at LIMIT ?")
  static let oldestEnded = Query(
    "SELECT id, definition, state FROM request WHERE ended_at IS NOT NULL ORDER BY ended_at LIMIT ?")
  static let endedCount = Query("SELECT coalesce(sum(succeeded + failed + cancelled), 0) FROM pattern")
  static let deleteRequest = Query("DELETE FROM request WHERE id = ?")
  static let oldestSubmissions = Query("SELECT id, at FROM submission ORDER BY id LIMIT ?")
  static let deleteSubmission = Query("DELETE FROM submission WHERE id = ?")
}
