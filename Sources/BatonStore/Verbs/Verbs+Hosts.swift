package import BatonModel

/// How the secret in a worker's hello compares with the secret that the store keeps for the host's name.
package enum SecretStanding: Hashable, Sendable {
  /// The worker sent the secret that is kept for this name.
  case matches
  /// No secret is kept for this name.
  case unclaimed
  /// Another secret is kept for this name.
  case differs
  /// A secret is kept for this name, and the worker sent none.
  case missing
}

/// What a host reported about itself last, as the store keeps it. `explain` judges a host that is not connected by this
/// report.
package struct HostWord: Hashable, Sendable, Codable {
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions

  package init(version: String, capabilities: Capabilities, conditions: Conditions) {
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
  }
}

extension Verbs {
  /// The row number of `host` if `incarnation` holds its lease; otherwise `nil`.
  func holder(_ host: HostName, _ incarnation: Incarnation) throws -> Int64? {
    try prepare(.leaseHolder).first(host.rawValue, incarnation.rawValue) { $0.int64(0) }
  }

  /// The row number of the host of `process` if that process holds the host's lease; otherwise `nil`. All launches that
  /// run on the host are then launches of this process, because no lease is granted while launches of an earlier
  /// incarnation are open.
  func holder(_ process: WorkerProcess) throws -> Int64? { try holder(process.host, process.incarnation) }

  /// Whether `launch` is live and runs on `process`.
  func isRunning(_ launch: LaunchKey, on process: WorkerProcess) throws -> Bool {
    guard let host = try holder(process) else { return false }
    return try prepare(.openLaunchOn).first(launch.request.rawValue, launch.number, host, row: { _ in true }) == true
  }

  package func grantLease(
    _ host: HostName, _ incarnation: Incarnation, secret: [UInt8]? = nil, report: HostWord? = nil, at now: Moment
  ) throws {
    switch try standing(of: host, secret: secret) {
    case .matches, .unclaimed: break
    case .differs, .missing:
      throw StoreError(.refused, "The name \(host) belongs to a worker with another secret.")
    }
    let others = try prepare(.openElsewhere).first(host.rawValue, incarnation.rawValue) { $0.int(0) } ?? 0
    guard others == 0 else {
      throw StoreError(
        .refused,
        """
        \(others) launch\(others == 1 ? "" : "es") of an earlier worker process of host \(host) did not end yet; end \
        its lease first.
        """)
    }
    try prepare(.grantLease).run(
      host.rawValue, incarnation.rawValue, now.date, try report?.canonicalJSON(), secret)
  }

  package func standing(of host: HostName, secret: [UInt8]?) throws -> SecretStanding {
    guard let known = try prepare(.secret).first(host.rawValue, row: { $0.optionalBlob(0) }) ?? nil else {
      return .unclaimed
    }
    guard let secret else { return .missing }
    return known == secret ? .matches : .differs
  }

  package func forgetSecret(of host: HostName) throws {
    try requireHost(host)
    try prepare(.forgetSecret).run(host.rawValue)
  }

  package func endLease(
    _ host: HostName, _ incarnation: Incarnation, countsAsLoss: Bool, at now: Moment
  ) throws -> [EndingAnswer] {
    guard let id = try holder(host, incarnation) else { return [] }
    let open = try prepare(.openOnHost).all(id) { LaunchKey(request: RequestID($0.int64(0)), number: $0.int(1)) }
    let answers = try open.map { launch in
      try end(
        Ending(launch: launch, outcome: .lost, isGraceful: false), on: id, countsAsLoss: countsAsLoss, at: now)
    }
    try prepare(.endLease).run(now.date, id)
    return answers
  }

  package func assignments(on host: HostName) throws -> [Assignment] {
    try prepare(.assignments).all(host.rawValue) { row in
      var candidate = Self.candidate(row)
      // The row is that of a running request, whose number of launches includes this launch already.
      candidate.launches -= 1
      var assignment = Assignment(
        candidate, Claim.Place(gpus: GPUList.indices(row.text(22)), spanID: row.spanID(23)),
        after: try lastEnd(before: candidate), startedAt: row.time(24), isSimulated: row.bool(27))
      assignment.pendingExpiry = row.optionalText(25).flatMap { ExpiryReason(code: $0, detail: row.optionalText(26)) }
      return assignment
    }
  }

  package func noteReports(_ reports: [HostName: HostWord], at now: Moment) throws {
    for (host, word) in reports.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      try prepare(.noteReport).run(try word.canonicalJSON(), now.date, host.rawValue)
    }
  }

  package func setDraining(_ host: HostName, _ isDraining: Bool, at now: Moment) throws {
    try requireHost(host)
    try prepare(.setDraining).run(isDraining, host.rawValue)
  }

  /// Throws `.notFound` unless the host was connected before.
  func requireHost(_ host: HostName) throws {
    guard try prepare(.hostExists).first(host.rawValue, row: { _ in true }) == true else {
      throw StoreError(.notFound, "There is no host \(host); `baton hosts` lists those that were ever connected.")
    }
  }

  package func setPaused(_ isPaused: Bool) throws { try prepare(.setPaused).run(isPaused) }
}

extension Query {
  static let leaseHolder = Query("SELECT id FROM host WHERE name = ? AND incarnation = ?")
  static let openLaunchOn = Query(
    "SELECT 1 FROM launch WHERE request = ? AND number = ? AND host = ? AND ended_at IS NULL")
  static let openElsewhere = Query(
    """
    SELECT count(*) FROM launch l JOIN host h ON h.id = l.host
    WHERE h.name = ? AND l.ended_at IS NULL AND l.incarnation <> ?
    """)
  static let grantLease = Query(
    """
    INSERT INTO host (name, incarnation, last_seen_at, word, secret) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, last_seen_at = excluded.last_seen_at,
      word = coalesce(excluded.word, word), secret = coalesce(secret, excluded.secret)
    """)
  static let secret = Query("SELECT secret FROM host WHERE name = ?")
  static let forgetSecret = Query("UPDATE host SET secret = NULL WHERE name = ?")
  static let openOnHost = Query(
    "SELECT request, number FROM launch WHERE host = ? AND ended_at IS NULL ORDER BY request")
  static let endLease = Query("UPDATE host SET incarnation = NULL, last_seen_at = ? WHERE id = ?")
  static let noteReport = Query("UPDATE host SET word = ?, last_seen_at = ? WHERE name = ?")
  static let hostExists = Query("SELECT 1 FROM host WHERE name = ?")
  static let setDraining = Query("UPDATE host SET is_draining = ? WHERE name = ?")
  static let setPaused = Query("UPDATE store SET is_paused = ? WHERE id = 1")
  static let assignments = Query(
    """
    SELECT \(candidateList), l.gpus, l.span_id, l.started_at, l.expiring_reason, l.expiring_detail, l.is_simulated
    FROM host h JOIN launch l ON l.host = h.id AND l.ended_at IS NULL JOIN request r ON r.id = l.request
      JOIN identifier i ON i.id = r.identifier
      LEFT JOIN progress p ON p.request = r.id LEFT JOIN payload y ON y.request = r.id
    WHERE h.name = ? ORDER BY l.request
    """)
}
