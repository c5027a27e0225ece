extension Verbs {
  /// Empties the store as if it had just been made. The simulation uses it, because it needs thousands of stores, and
  /// opening a new store and preparing its statements would take a hundred times as long.
  package func wipe() throws {
    for query in Query.wipes { try prepare(query).run() }
    forget()
  }
}

extension Query {
  /// Deletes the rows of every table. Tables that refer to others come first, because of the foreign keys.
  fileprivate static let wipes =
    [
      """
      UPDATE store SET is_paused = 0, next_request = 1, steward = NULL, definitions_version = 0,
        incarnation = coalesce(former_incarnation, incarnation), former_incarnation = NULL
      """, "UPDATE pattern SET definition = NULL, applied_at = NULL",
    ].map { Query($0) }
    + [
      "notification", "joining", "rejected_span", "unsent_span", "completion", "poke", "submission", "output",
      "item_page", "event",
      "payload", "progress", "result", "launch", "request", "identifier", "definition_version", "condition_change",
      "definition", "share", "namespace_share", "limit_line", "limit_key", "pattern", "eviction", "host", "clock",
      "coordinator",
    ].map { Query("DELETE FROM \($0)") }
}
