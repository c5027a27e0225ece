internal import BatonModel

/// The results of requests, and what those that wait for them get of them.
extension Verbs {
  /// Keeps the result that a checkpoint brings, in its transaction. It replaces the one before, and counts once the
  /// request has succeeded.
  func keep(_ result: JobResult, of request: Int64) throws {
    try need(.result(RequestID(request)))
    try prepare(.keepResult).run(request, result.json)
  }

  /// The result of a request that was not divided; `nil` if it has given none. The caller knows that the request has
  /// succeeded.
  func result(of request: RequestID) throws -> JobResult? {
    try need(.result(request))
    return try prepare(.resultOf).first(request.rawValue) { JobResult(trusted: $0.blob(0)) }
  }

  /// How the requests have ended that the candidate's request waited for, in the order of `after`. All launches of the
  /// request get the same, unless an awaited request is not kept any more.
  func inputs(of candidate: Candidate) throws -> [RequestInput] {
    guard candidate.isInFlow else { return [] }
    let request = candidate.head ?? candidate.request
    // One claim may start hundreds of shards of the request, and all get the same.
    if let inputs = inputsOfRequest[request] { return inputs }
    let inputs = try readInputs(of: request)
    inputsOfRequest = [request: inputs]
    return inputs
  }

  private func readInputs(of request: RequestID) throws -> [RequestInput] {
    try need(.inputs(request))
    let awaited = try prepare(.endedWaits).all(request.rawValue) { row in
      (
        id: row.int64(0),
        input: RequestInput(
          JobIdentifier(trusted: row.text(1)), number: row.int(2), state: RequestState(code: row.int(3))),
        isDivided: row.bool(4)
      )
    }
    var room = JobResult.maximumInputBytes
    var isFull = false
    return try awaited.map { one in
      var input = one.input
      guard input.state == .succeeded else { return input }
      let found = isFull ? [] : try results(of: one.id, within: room)
      // The first result that does not fit is among them, so that it is noticed.
      for result in found {
        if result.result.json.count > room { isFull = true }
        guard !isFull else { break }
        room -= result.result.json.count
        input.shards.append(result)
      }
      input.isCut = isFull
      if !one.isDivided { (input.result, input.shards) = (input.shards.first?.result, []) }
      return input
    }
  }

  private func results(of request: Int64, within room: Int) throws -> [RequestInput.ShardResult] {
    try prepare(.resultsOf).all(request, room) { row in
      RequestInput.ShardResult(shard: row.int(0), result: JobResult(trusted: row.blob(1)))
    }
  }
}

extension Query {
  static let keepResult = Query(
    """
    INSERT INTO result (request, head, shard, bytes) SELECT id, coalesce(head, id), shard, ?2 FROM request WHERE id = ?1
    ON CONFLICT (request) DO UPDATE SET bytes = excluded.bytes
    """)
  static let resultOf = Query("SELECT bytes FROM result WHERE request = ?")
  /// The waits of a request that are over. Those of a request that is not kept any more are left out.
  static let endedWaits = Query(
    """
    SELECT a.id, i.name, a.number, coalesce(d.ended_as, a.state), a.first_unit IS NOT NULL
    FROM dependency d JOIN request a ON a.id = d.awaited JOIN identifier i ON i.id = a.identifier
    WHERE d.request = ? AND d.state = 1 AND coalesce(d.ended_as, a.state) >= 3 ORDER BY d.position, d.awaited
    """)
  /// The results of a request by the shards, up to the first one with which they have more than `?2` bytes.
  static let resultsOf = Query(
    """
    SELECT shard, bytes FROM (
      SELECT shard, bytes, sum(length(bytes)) OVER (ORDER BY shard) - length(bytes) AS before FROM result
      WHERE head = ?1) AS s
    WHERE before <= ?2 ORDER BY shard
    """)
}
