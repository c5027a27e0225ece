package import BatonModel

/// The ready requests of a class: how many there are, and those that start next.
package struct QueuedClass: Hashable, Sendable {
  package struct Next: Hashable, Sendable {
    package var request: RequestID
    package var identifier: JobIdentifier
    package var number: Int
    package var shard: Int
    /// Since when it has been ready, on the wall clock; `nil` if an earlier version made it ready.
    package var readyAt: Timestamp?

    package init(request: RequestID, identifier: JobIdentifier, number: Int, shard: Int = 0, readyAt: Timestamp? = nil)
    {
      (self.request, self.identifier, self.number) = (request, identifier, number)
      (self.shard, self.readyAt) = (shard, readyAt)
    }
  }

  package var requirementClass: RequirementClass
  /// At most `Verbs.countLimit + 1`, which stands for more than `countLimit`.
  package var ready: Int
  /// The first ones, at most `mostNext`.
  package var next: [Next]

  package static let mostNext = 5

  package init(_ requirementClass: RequirementClass, ready: Int, next: [Next]) {
    (self.requirementClass, self.ready, self.next) = (requirementClass, ready, next)
  }
}

extension Verbs {
  /// Rows are counted up to this number. A person who is told "more than 10,000" does not wait for the rest.
  package static let countLimit = 10_000

  /// The ready requests of classes, in the order of the classes. A class without one is left out.
  package func queue(of classes: [RequirementClass]) throws -> [QueuedClass] {
    try classes.compactMap { requirementClass in
      let (definition, priority) = (requirementClass.definition.rawValue, requirementClass.priority.rawValue)
      let next = try prepare(.nextOfClass).all(definition, priority, QueuedClass.mostNext) { row in
        QueuedClass.Next(
          request: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
          shard: row.int(3), readyAt: row.optionalTime(4))
      }
      guard !next.isEmpty else { return nil }
      let ready = try prepare(.readyBefore).first(definition, priority, Int64.max) { $0.int(0) } ?? 0
      return QueuedClass(requirementClass, ready: ready, next: next)
    }
  }
}

extension Query {
  static let nextOfClass = Query(
    """
    SELECT r.id, i.name, r.number, r.shard, r.ready_at FROM request r JOIN identifier i ON i.id = r.identifier
    WHERE r.state = 1 AND r.definition = ?1 AND r.priority = ?2 ORDER BY r.id LIMIT ?3
    """,
    // A list of one, as in `ListSource.planned`.
    elsewhere: """
      SELECT r.id, i.name, r.number, r.shard, r.ready_at FROM request r JOIN identifier i ON i.id = r.identifier
      WHERE r.state = 1 AND r.definition = ANY (ARRAY[?1]) AND r.priority = ?2 ORDER BY r.definition, r.id LIMIT ?3
      """)
}
