package import BatonModel

/// One poke that a request stands for.
package struct PokeRecord: Hashable, Sendable {
  /// The id that the client gave to the poke.
  package var id: String
  package var at: Timestamp
  package var priority: PokePriority
  package var principal: String

  package init(id: String, at: Timestamp, priority: PokePriority, principal: String) {
    self.id = id
    self.at = at
    self.priority = priority
    self.principal = principal
  }
}

extension Verbs {
  /// The pokes that a request stands for, the oldest first. A poke is kept as long as its submission id.
  package func pokes(of request: RequestID) throws -> [PokeRecord] {
    try prepare(.pokes).all(request.rawValue) { row in
      PokeRecord(
        id: row.text(0), at: row.time(1), priority: row.poke(2) ?? .considerate, principal: row.text(3))
    }
  }

  /// Adds a poke to the request's history. The event of an immediate poke has a name of its own, so that an operator
  /// can see who sent it.
  func notePoke(_ new: NewRequest, of request: Int64, at now: Moment) throws {
    try note(
      new.poke == .immediate ? .pokedAtOnce : .poked, detail: new.principal.isEmpty ? nil : new.principal,
      of: request, at: now)
  }

  /// Stores a poke.
  /// - Parameter id: the number of its submission's row.
  func rememberPoke(_ submission: Submission, _ id: Int64, for request: RequestID, at now: Moment) throws {
    guard let poke = submission.poke else { return }
    try prepare(.insertPoke).run(id, request.rawValue, now.date, poke.rawValue, submission.principal)
  }
}

extension Query {
  static let pokes = Query(
    """
    SELECT s.key, p.at, p.priority, p.principal FROM poke p JOIN submission s ON s.id = p.submission
    WHERE p.request = ? ORDER BY p.submission
    """)
  static let insertPoke = Query(
    "INSERT INTO poke (submission, request, at, priority, principal) VALUES (?, ?, ?, ?, ?)")
}
