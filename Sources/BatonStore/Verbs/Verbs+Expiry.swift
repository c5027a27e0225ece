package import BatonModel

extension Verbs {
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess? = nil, under lease: HostLease? = nil,
    at now: Moment
  ) throws -> LaunchSubject? {
    if let lease, try host(lease.host)?.lease != lease.number { throw StoreError.moved(lease) }
    if let process, try !isRunning(launch, on: process) { return nil }
    try need(.request(launch.request))
    let subject = try prepare(.openLaunch).first(launch.request.rawValue, launch.number, reason.code) { row in
      LaunchSubject(
        identifier: JobIdentifier(trusted: row.text(0)), request: row.int(1), launch: launch.number,
        shard: row.optionalInt64(5).map(Int.init), trace: row.trace(2))
    }
    guard let subject else { return nil }
    try prepare(.noteExpiry).run(reason.code, reason.detail, now.date, launch.request.rawValue, launch.number)
    return subject
  }
}

extension Query {
  static let openLaunch = Query(
    """
    SELECT i.name, r.number, r.trace_id, l.span_id, r.is_sampled,
      CASE WHEN r.first_unit IS NOT NULL THEN r.shard END
    FROM launch l JOIN request r ON r.id = l.request JOIN identifier i ON i.id = r.identifier
    WHERE l.request = ? AND l.number = ? AND (l.ended_at IS NULL OR l.expiring_reason = ?)
    """)
  /// The first reason stays, so that each launch has one cause.
  static let noteExpiry = Query(
    """
    UPDATE launch SET expiring_reason = ?, expiring_detail = ?, expiring_since = ?
    WHERE request = ? AND number = ? AND ended_at IS NULL AND expiring_reason IS NULL
    """)
}
