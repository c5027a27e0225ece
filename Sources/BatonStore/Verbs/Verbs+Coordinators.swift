package import BatonModel

/// The answer to a beat: what this coordinator has to know of the others.
package struct Beat: Hashable, Sendable {
  /// A coordinator that has not ended, as its row says.
  package struct Other: Hashable, Sendable {
    package var epoch: Int64
    package var address: String
    /// Raised by each of its beats.
    package var beat: Int64
  }

  /// Whether this coordinator is the steward: the one that promotes, prunes, sends spans, keeps the clock, and takes
  /// over the leases of coordinators that have ended.
  package var isSteward = true
  /// The other coordinators that have not ended, in the order of their starts.
  package var living: [Other] = []
  /// Whether this beat has taken over leases. `fleet` has them.
  package var hasAdopted = false
}

/// Where a coordinator serves, as people and other machines reach it, and what it is.
package struct CoordinatorPlace: Hashable, Sendable {
  /// The name of its machine; empty until the coordinator listens.
  package var name: String
  package var version: String
  /// `HOST:PORT` for the workers of hosts that have joined; empty until the coordinator listens.
  package var workers: String
  /// `HOST:PORT` for operators; `nil` if it serves none on other machines.
  package var operators: String?
  /// `HOST:PORT` for pokes and metrics; `nil` if it does not serve them over TLS.
  package var https: String?

  package init(name: String, version: String, workers: String, operators: String? = nil, https: String? = nil) {
    (self.name, self.version, self.workers) = (name, version, workers)
    (self.operators, self.https) = (operators, https)
  }
}

/// A coordinator as its row says.
package struct CoordinatorRecord: Hashable, Sendable {
  /// The number of its tenure: 1, 2 … in the order of their starts.
  package var epoch: Int64
  package var place: CoordinatorPlace
  /// How many leases of hosts it owns.
  package var hosts: Int
  package var isSteward: Bool
  package var isEnded: Bool
  /// When it ended, on the steady clock; `nil` if it has not, or if no clock was stored then.
  package var endedAt: Timestamp?
  /// What tells its list of namespaces from others (`Namespaces.digest`); `nil` if it has none.
  package var namespaces: String?
}

extension Verbs {
  /// Raises this coordinator's beat, so that the others see that it lives, and reads theirs. If there is no steward,
  /// this coordinator becomes it.
  /// - Parameter reading: the clock that the steward keeps for the others; `nil` if it has not yet followed the last
  ///   reading of the steward before it.
  package func beat(_ reading: ClockReading?) throws -> Beat {
    guard let tenure else { return Beat() }
    if tenure.isSteward, let reading { try saveClock(reading) }
    try prepare(.raiseBeat).run(tenure.epoch)
    let hasAdopted = try takeOver(at: tenure.epoch)
    let others = try prepare(.livingCoordinators).all(tenure.epoch) { row in
      Beat.Other(epoch: row.int64(0), address: row.text(1), beat: row.int64(2))
    }
    return Beat(isSteward: self.tenure?.isSteward ?? false, living: others, hasAdopted: hasAdopted)
  }

  /// Ends the tenure of a coordinator whose beat stands still. From now on nothing of it commits. Nothing happens if
  /// its beat is not `beat` any more, or if it has ended before.
  package func end(coordinator epoch: Int64, silentSince beat: Int64) throws {
    try need(.everything)
    guard let tenure, try prepare(.endCoordinator).first(epoch, beat, row: { _ in true }) == true else { return }
    try takeOver(at: tenure.epoch)
  }

  /// Keeps where this coordinator serves, so that operators learn it from any coordinator.
  package func serve(at place: CoordinatorPlace) throws {
    guard let tenure else { return }
    try prepare(.serve).run(
      place.name, place.version, place.workers, place.operators, place.https, tenure.epoch)
  }

  /// The coordinators that have not ended, and at most 100 of those that ended after `time`, in the order of their
  /// starts. One that ended before it served is not among them.
  package func coordinators(endedSince time: Timestamp) throws -> [CoordinatorRecord] {
    let rows = try prepare(.coordinators).all(time) { row in
      CoordinatorRecord(
        epoch: row.int64(0),
        place: CoordinatorPlace(
          name: row.text(1), version: row.text(2), workers: row.text(3), operators: row.optionalText(4),
          https: row.optionalText(5)),
        hosts: row.int(6), isSteward: row.bool(7), isEnded: row.bool(8), endedAt: row.optionalTime(9),
        namespaces: row.optionalText(10))
    }
    return rows.sorted { $0.epoch < $1.epoch }
  }

  /// Ends this tenure. The other coordinators take over at once.
  package func leave() throws {
    guard let tenure else { return }
    try flush()
    try prepare(.leave).run(tenure.epoch)
  }

  /// Takes over what coordinators that have ended had: their shares, the office of the steward, and, if this
  /// coordinator has that office, their leases. The number of each lease rises, and the worker has one full term to
  /// come back.
  /// - Returns: whether a lease was taken over.
  @discardableResult
  func takeOver(at epoch: Int64) throws -> Bool {
    if try prepare(.unsettled).first(row: { _ in true }) == true { try takeShares(at: epoch) }
    var steward = try prepare(.livingSteward).first { $0.int64(0) }
    if steward == nil {
      try need(.everything)
      try prepare(.takeStewardship).run(epoch)
      steward = epoch
    }
    tenure?.isSteward = steward == epoch
    guard steward == epoch else { return false }
    try need(.orphans)
    return try prepare(.adoptLeases).first(epoch, row: { _ in true }) == true
  }

  /// Adds the shares of all coordinators that do not live to the shares of this one.
  func takeShares(at epoch: Int64) throws {
    try need(.everything)
    try need(.allDefinitions)
    try flush()
    shares.removeAll()
    patterns.removeAll()
    try prepare(.addShares).run(epoch)
    try prepare(.deleteShares).run(epoch)
    try prepare(.settle).run()
    let pending = try prepare(.ownPending).first(epoch) { $0.int(0) } ?? 0
    pendingChange = pending - (tenure?.pending ?? 0)
    try recountNamespaces(at: epoch)
  }
}

extension Query {
  static let raiseBeat = Query("UPDATE coordinator SET beat = beat + 1 WHERE epoch = ?")
  static let livingCoordinators = Query(
    "SELECT epoch, address, beat FROM coordinator WHERE is_ended = 0 AND epoch <> ? ORDER BY epoch")
  static let endCoordinator = Query(
    """
    UPDATE coordinator SET is_ended = 1, ended_at = \(lastReading) WHERE epoch = ? AND beat = ? AND is_ended = 0
    RETURNING epoch
    """)
  static let leave = Query("UPDATE coordinator SET is_ended = 1, ended_at = \(lastReading) WHERE epoch = ?")
  /// The steady clock, as it was stored last.
  static let lastReading = "(SELECT steady FROM clock WHERE id = 1)"
  static let serve = Query(
    "UPDATE coordinator SET name = ?, version = ?, address = ?, operators = ?, https = ? WHERE epoch = ?")
  static let coordinators = Query(
    """
    SELECT c.epoch, c.name, c.version, c.address, c.operators, c.https,
      (SELECT count(*) FROM host h WHERE h.owner = c.epoch AND h.incarnation IS NOT NULL),
      coalesce(s.steward, 0) = c.epoch, c.is_ended, c.ended_at, c.namespaces
    FROM coordinator c, store s WHERE s.id = 1 AND (c.is_ended = 0 OR c.ended_at >= ? AND c.address <> '')
    ORDER BY c.is_ended, c.epoch DESC LIMIT 100
    """)
  static let unsettled = Query(
    "SELECT 1 FROM coordinator WHERE is_settled = 0 AND is_ended = 1 LIMIT 1")
  static let settle = Query("UPDATE coordinator SET is_settled = 1, pending = 0 WHERE is_settled = 0 AND is_ended = 1")
  /// Of the uses of a daily allowance those of the latest day count.
  static let addShares = Query(
    """
    INSERT INTO share (pattern, coordinator, scheduled, ready, running, succeeded, failed, cancelled, use_day, used)
    SELECT s.pattern, ?1, sum(s.scheduled), sum(s.ready), sum(s.running), sum(s.succeeded), sum(s.failed),
      sum(s.cancelled), max(s.use_day),
      sum(CASE WHEN s.use_day = (SELECT max(m.use_day) FROM share m WHERE m.pattern = s.pattern AND \(isGone("m")))
        THEN s.used ELSE 0 END)
    FROM share s WHERE \(isGone("s")) GROUP BY s.pattern
    ON CONFLICT (pattern, coordinator) DO UPDATE SET scheduled = excluded.scheduled, ready = excluded.ready,
      running = excluded.running, succeeded = excluded.succeeded, failed = excluded.failed,
      cancelled = excluded.cancelled, use_day = excluded.use_day, used = excluded.used
    """)
  static let deleteShares = Query("DELETE FROM share WHERE coordinator <> ?1 AND \(isGone("share"))")
  static let ownPending = Query("SELECT coalesce(sum(scheduled + ready), 0) FROM share WHERE coordinator = ?")
  /// Whether a share is this coordinator's (`?1`), or of a coordinator that does not live.
  private static func isGone(_ share: String) -> String {
    """
    (\(share).coordinator = ?1
      OR NOT EXISTS (SELECT 1 FROM coordinator c WHERE c.epoch = \(share).coordinator AND c.is_ended = 0))
    """
  }
  static let livingSteward = Query(
    "SELECT c.epoch FROM store s JOIN coordinator c ON c.epoch = s.steward WHERE s.id = 1 AND c.is_ended = 0")
  static let takeStewardship = Query("UPDATE store SET steward = ? WHERE id = 1")
  static let adoptLeases = Query(
    """
    UPDATE host SET owner = ?1, lease = lease + 1, link = NULL WHERE incarnation IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM coordinator WHERE epoch = host.owner AND is_ended = 0)
    RETURNING id
    """)
}
