package import BatonModel

extension Verbs {
  /// Gives a pending request another priority, with all its shards.
  package func setPriority(_ id: RequestID, _ priority: Priority) throws -> RequestRecord {
    guard let request = try launched(id) else { throw StoreError(.notFound, "There is no request \(id).") }
    let runs = request.isSpread ? try knownSpread(of: id).running > 0 : false
    guard request.state.isPending, !runs else {
      let state = runs ? .running : request.state
      throw StoreError(
        .refused, "\(request.name) \(state.predicate), so it takes no other priority: only what waits has a turn.")
    }
    if request.isSpread { try need(.allShards(id)) }
    try moveLines(of: request, to: priority)
    try prepare(.setPriority).run(priority.rawValue, id.rawValue)
    guard let record = try self.request(id) else {
      throw StoreError(.corrupt, "\(request.name) is not there any more.")
    }
    return record
  }
}

extension Query {
  static let setPriority = Query("UPDATE request SET priority = ?1 WHERE id = ?2 OR head = ?2")
}
