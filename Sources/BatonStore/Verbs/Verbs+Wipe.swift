extension Verbs {
  /// Empties the store, as if it had just been made: for the simulation, which needs thousands of stores. Opening one
  /// and preparing its statements takes a hundred times as long.
  package func wipe() throws {
    for query in Query.wipes { try prepare(query).run() }
    forget()
  }
}

extension Query {
  /// Every table, those first that name others.
  fileprivate static let wipes =
    ["UPDATE store SET is_paused = 0, next_request = 1", "UPDATE pattern SET definition = NULL, applied_at = NULL"].map
  {
    Query($0)
  }
    + [
      "joining", "rejected_span", "unsent_span", "completion", "poke", "submission", "output", "item_page", "event",
      "payload",
      "progress", "launch", "request", "identifier", "definition", "pattern", "eviction", "host", "clock",
    ].map { Query("DELETE FROM \($0)") }
}
