package import BatonModel

extension Verbs {
  package func redefine(_ id: RequestID, as definition: DefinitionID, at now: Moment) throws -> RequestRecord {
    guard let request = try launched(id) else { throw StoreError(.notFound, "There is no request \(id).") }
    let runs = request.isSpread ? try knownSpread(of: id).running > 0 : false
    guard request.state.isPending, !runs else {
      let state = runs ? .running : request.state
      let remedy =
        switch state {
        case .running: "wait for the end of its launch, or end it with 'baton drain HOST'"
        case .failed: "retry it with --with-new-definition"
        case .scheduled, .ready, .succeeded, .cancelled: "submit it again"
        }
      throw StoreError(
        .refused, "\(request.name) \(state.predicate), so it takes no other definition; \(remedy).")
    }
    try adopt(definition, by: request, at: now)
    try reschedule(
      request, from: try knownDefinition(request.requirementClass.definition).definition,
      to: try knownDefinition(definition).definition, at: now)
    try callRows(of: request, pattern: try knownDefinition(definition).pattern, at: now)
    try setPatience(
      of: request, from: try knownDefinition(request.requirementClass.definition).definition,
      to: try knownDefinition(definition).definition, at: now)
    guard let record = try self.request(id) else {
      throw StoreError(.corrupt, "\(request.name) is not there any more.")
    }
    return record
  }

  /// Gives the request another definition and keeps its checkpoint. Its priority follows if the two texts differ there.
  /// Earlier launches keep the definition that they ran under, so their spans do not change.
  /// - Throws: `.refused` if the definition is not applied or is the present one, or if its items or batch size differ
  ///   after a batch was committed.
  func adopt(_ id: DefinitionID, by request: LaunchedRequest, at now: Moment) throws {
    let old = try knownDefinition(request.requirementClass.definition)
    guard let new = try frozen(id), try pattern(new.pattern).definition == id.rawValue else {
      throw StoreError(.refused, "The definition of \(request.identifier) was changed at the same time; try again.")
    }
    guard new.id != old.id else {
      throw StoreError(
        .refused,
        """
        \(request.name) has the definition that is applied for it already; apply the repaired file first (baton apply \
        FILE), or retry without --with-new-definition.
        """)
    }
    let differences = new.definition.differences(fromItemsOf: old.definition)
    guard differences.isEmpty || request.batches == 0 && !request.isSpread else {
      throw StoreError(
        .refused,
        """
        \(request.name) cannot continue from its checkpoint under the new definition: \
        \(differences.joined(separator: "; ")). Undo that change, or start from the beginning \
        (baton submit \(request.identifier); with baton run: --anew).
        """)
    }
    if !differences.isEmpty { try forgetItems(of: request) }
    let ids = try shardIDs(of: request)
    try need(ids.map { .launches(RequestID($0)) })
    for id in ids {
      try prepare(.keepLaunchDefinitions).run(old.id.rawValue, id)
      try prepare(.setDefinition).run(new.id.rawValue, id)
    }
    if new.definition.priority != old.definition.priority {
      try prepare(.setPriority).run(new.definition.priority.rawValue, request.id.rawValue)
    }
    try note(.redefined, detail: nil, of: request.id.rawValue, at: now)
    // It may have had its turn at keys that are not its own any more.
    if request.state.isPending { try passTurn(of: request.identifier, old.definition, at: now) }
    let counted = request.isSpread && request.state.isPending ? .scheduled : request.state
    try count(pattern: old.pattern, from: counted, to: nil)
    try count(pattern: new.pattern, from: nil, to: counted)
  }

  /// The rows of all shards of a request, its own first.
  func shardIDs(of request: LaunchedRequest) throws -> [Int64] {
    guard request.isSpread else { return [request.id.rawValue] }
    try need(.allShards(request.id))
    return try [request.id.rawValue] + prepare(.shardIDs).all(request.id.rawValue) { $0.int64(0) }
  }

  /// Deletes the frozen items. No batch was committed, so the next launch determines the items again from the new
  /// definition.
  private func forgetItems(of request: LaunchedRequest) throws {
    try need(.items(request.id))
    try prepare(.deletePages).run(request.id.rawValue)
    try prepare(.forgetItems).run(request.id.rawValue)
  }
}

extension LaunchedRequest {
  /// The name of the request in messages, for example `com.example.report (request 3)`.
  var name: String { "\(identifier) (request \(number))" }
}

extension Query {
  static let keepLaunchDefinitions = Query("UPDATE launch SET definition = ? WHERE request = ? AND definition IS NULL")
  static let shardIDs = Query("SELECT id FROM request WHERE head = ? ORDER BY shard")
  static let setDefinition = Query(
    "UPDATE request SET definition = ?1, submitted_as = coalesce(submitted_as, definition) WHERE id = ?2")
  static let forgetItems = Query("UPDATE request SET frozen_items = NULL WHERE id = ?")
}
