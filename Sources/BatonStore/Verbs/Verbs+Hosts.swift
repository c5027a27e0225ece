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

/// The row of a host, as far as leases need it.
struct HostRow {
  var id: Int64
  var incarnation: Incarnation?
  /// The epoch of the coordinator that owns the lease; `nil` if no process holds it.
  var owner: Int64?
  var lease: Int64
  /// The number of the connection to the owner; `nil` while the worker is away.
  var link: Int64?
}

extension Verbs {
  /// The row of the host; `nil` if the host was never connected.
  func host(_ name: HostName) throws -> HostRow? {
    try need(.host(name))
    return try prepare(.hostRow).first(name.rawValue) { row in
      HostRow(
        id: row.int64(0), incarnation: row.optionalText(1).map(Incarnation.init), owner: row.optionalInt64(2),
        lease: row.int64(3), link: row.optionalInt64(4))
    }
  }

  /// The row number of the host if `lease` is its present lease; otherwise `nil`.
  func holder(_ lease: HostLease) throws -> Int64? {
    try need(.host(lease.host))
    return try prepare(.leaseOwner).first(lease.host.rawValue, lease.number, lease.incarnation.rawValue) { $0.int64(0) }
  }

  /// The row number of `host` if `incarnation` holds its lease; otherwise `nil`.
  func holder(_ host: HostName, _ incarnation: Incarnation) throws -> Int64? {
    try need(.host(host))
    return try prepare(.leaseHolder).first(host.rawValue, incarnation.rawValue) { $0.int64(0) }
  }

  /// The row number of the host of `process` if that process holds the host's lease; otherwise `nil`. All launches that
  /// run on the host are then launches of this process, because no lease is granted while launches of an earlier
  /// incarnation are open.
  func holder(_ process: WorkerProcess) throws -> Int64? { try holder(process.host, process.incarnation) }

  /// Whether `launch` is live and runs on `process`.
  func isRunning(_ launch: LaunchKey, on process: WorkerProcess) throws -> Bool {
    guard let host = try holder(process) else { return false }
    try need(.request(launch.request))
    return try prepare(.openLaunchOn).first(launch.request.rawValue, launch.number, host, row: { _ in true }) == true
  }

  package func grantLease(
    _ name: HostName, _ incarnation: Incarnation, link: Int64, secret: [UInt8]? = nil, report: HostWord? = nil,
    at now: Moment
  ) throws -> LeaseGrant {
    switch try standing(of: name, secret: secret) {
    case .matches, .unclaimed: break
    case .differs, .missing:
      throw StoreError(.refused, "The name \(name) belongs to a worker with another secret.")
    }
    let (known, epoch) = (try host(name), tenure?.epoch ?? 0)
    let ended = try known.map { try endEarlier($0, name, than: incarnation, at: now) } ?? []
    let stays = known?.incarnation == incarnation && known?.owner == epoch
    let number = (known?.lease ?? 0) + (stays ? 0 : 1)
    let word = try report?.canonicalJSON()
    if let known {
      try prepare(.grantLease).run(incarnation.rawValue, now.date, secret, epoch, number, link, known.id)
    } else {
      try prepare(.insertHost).run(
        draw(.host), name.rawValue, incarnation.rawValue, now.date, nil as String?, secret, epoch, number, link)
    }
    if known?.incarnation == nil, let id = try host(name)?.id { try noteLease(of: id, isHeld: true, at: now) }
    if let report { try noteConditions(report, of: name, under: number, at: now) }
    if let word { try prepare(.noteReport).run(word, now.date, name.rawValue, number) }
    return LeaseGrant(lease: HostLease(host: name, incarnation: incarnation, number: number), ended: ended)
  }

  /// Ends what an earlier worker process of the host runs. A process of this coordinator has to be ended by
  /// `endLease` first, because the coordinator may know how its launches ended.
  /// - Throws: `.refused` if the earlier process is connected to another coordinator that lives.
  private func endEarlier(
    _ known: HostRow, _ name: HostName, than incarnation: Incarnation, at now: Moment
  ) throws -> [EndingAnswer] {
    guard let earlier = known.incarnation, earlier != incarnation, let owner = known.owner else { return [] }
    let isOwn = owner == tenure?.epoch ?? 0
    if !isOwn, known.link != nil, try prepare(.isLiving).first(owner, row: { _ in true }) == true {
      throw StoreError(.refused, HostLease.twoOfOneName(name))
    }
    guard isOwn else {
      let answers = try endLaunches(on: known.id, countsAsLoss: true, at: now)
      try tellLoss(of: known.id, name, lease: known.lease, launches: answers.count, at: now)
      return answers
    }
    try need(.launchesOn(known.id))
    let open = try prepare(.openOnHost).all(known.id) { _ in 1 }.count
    guard open == 0 else {
      throw StoreError(
        .refused,
        """
        \(open) launch\(open == 1 ? "" : "es") of an earlier worker process of host \(name) did not end yet; end \
        its lease first.
        """)
    }
    return []
  }

  package func standing(of host: HostName, secret: [UInt8]?) throws -> SecretStanding {
    try need(.host(host))
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

  package func endLease(_ lease: HostLease, countsAsLoss: Bool, at now: Moment) throws -> [EndingAnswer] {
    guard let host = try host(lease.host), host.lease == lease.number else { throw StoreError.moved(lease) }
    guard host.incarnation == lease.incarnation else { return [] }
    let answers = try endLaunches(on: host.id, countsAsLoss: countsAsLoss, at: now)
    try prepare(.endLease).run(now.date, now.steady, host.id)
    try noteLease(of: host.id, isHeld: false, at: now)
    if countsAsLoss { try tellLoss(of: host.id, lease.host, lease: lease.number, launches: answers.count, at: now) }
    return answers
  }

  package func endLease(of process: WorkerProcess, countsAsLoss: Bool, at now: Moment) throws -> [EndingAnswer] {
    guard let host = try host(process.host), host.incarnation == process.incarnation else { return [] }
    let lease = HostLease(host: process.host, incarnation: process.incarnation, number: host.lease)
    return try endLease(lease, countsAsLoss: countsAsLoss, at: now)
  }

  private func endLaunches(on host: Int64, countsAsLoss: Bool, at now: Moment) throws -> [EndingAnswer] {
    try need(.launchesOn(host))
    let open = try prepare(.openOnHost).all(host) { LaunchKey(request: RequestID($0.int64(0)), number: $0.int(1)) }
    return try each(open) { launch in
      try end(
        Ending(launch: launch, outcome: .lost, isGraceful: false), on: host, countsAsLoss: countsAsLoss, at: now)
    }
  }

  package func noteAway(_ lease: HostLease, link: Int64) throws {
    guard let host = try holder(lease) else { throw StoreError.moved(lease) }
    try prepare(.unlink).run(host, link)
  }

  package func assignments(on host: HostName) throws -> [Assignment] {
    let rows = try prepare(.assignments).all(host.rawValue) { row in
      var candidate = Self.candidate(row)
      // The row is that of a running request, whose number of launches includes this launch already.
      candidate.launches -= 1
      return (
        candidate: candidate, place: Claim.Place(gpus: GPUList.indices(row.text(30)), spanID: row.spanID(31)),
        startedAt: row.time(32), isSimulated: row.bool(35),
        expiry: row.optionalText(33).flatMap { ExpiryReason(code: $0, detail: row.optionalText(34)) }
      )
    }
    return try zip(rows, lastEnds(before: rows.map(\.candidate))).map { row, end in
      var assignment = Assignment(
        row.candidate, row.place, after: end, startedAt: row.startedAt, isSimulated: row.isSimulated)
      assignment.pendingExpiry = row.expiry
      assignment.inputs = try inputs(of: row.candidate)
      if row.candidate.hasTransfers { assignment.transfers = try toldTransfers(of: assignment.launch) }
      return assignment
    }
  }

  package func noteReports(_ reports: [HostLease: HostWord], at now: Moment) throws {
    try need(reports.keys.map { .host($0.host) })
    for (lease, word) in reports.sorted(by: { $0.key.host < $1.key.host }) {
      try noteConditions(word, of: lease.host, under: lease.number, at: now)
      try prepare(.noteReport).run(try word.canonicalJSON(), now.date, lease.host.rawValue, lease.number)
    }
  }

  package func setDraining(_ host: HostName, _ isDraining: Bool, at now: Moment) throws {
    try requireHost(host)
    try prepare(.setDraining).run(isDraining, host.rawValue)
  }

  /// Throws `.notFound` unless the host was connected before.
  func requireHost(_ host: HostName) throws {
    try need(.host(host))
    guard try prepare(.hostExists).first(host.rawValue, row: { _ in true }) == true else {
      throw StoreError(.notFound, "There is no host \(host); `baton hosts` lists those that were ever connected.")
    }
  }

  package func setPaused(_ isPaused: Bool) throws {
    try need(.everything)
    try prepare(.setPaused).run(isPaused)
  }

  /// The operator's word that keeps new launches off the host; `nil` if there is none. A claim or an offer may have
  /// been decided before the word was stored, or by a coordinator that has not heard of it yet. So once an operator has
  /// been answered, nothing starts there.
  func wordAgainst(launchesOn host: Int64) throws -> Obstacle? {
    try need(.hostRow(host))
    let words = try prepare(.wordsAgainst).first(host) { (isPaused: $0.bool(0), isDraining: $0.bool(1)) }
    guard let words else { return nil }
    return words.isPaused ? .fleetPaused : words.isDraining ? .hostDraining : nil
  }
}

extension Query {
  static let leaseHolder = Query("SELECT id FROM host WHERE name = ? AND incarnation = ?")
  static let openLaunchOn = Query(
    "SELECT 1 FROM launch WHERE request = ? AND number = ? AND host = ? AND ended_at IS NULL")
  static let hostRow = Query("SELECT id, incarnation, owner, lease, link FROM host WHERE name = ?")
  static let leaseOwner = Query("SELECT id FROM host WHERE name = ? AND lease = ? AND incarnation = ?")
  static let isLiving = Query("SELECT 1 FROM coordinator WHERE epoch = ? AND is_ended = 0")
  static let insertHost = Query(
    """
    INSERT INTO host (id, name, incarnation, last_seen_at, word, secret, owner, lease, link)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let grantLease = Query(
    """
    UPDATE host SET incarnation = ?, last_seen_at = ?, secret = coalesce(secret, ?), owner = ?, lease = ?, link = ?, gone_at = NULL,
      is_forgotten = 0
    WHERE id = ?
    """)
  static let secret = Query("SELECT secret FROM host WHERE name = ?")
  static let forgetSecret = Query("UPDATE host SET secret = NULL WHERE name = ?")
  static let openOnHost = Query(
    "SELECT request, number FROM launch WHERE host = ? AND ended_at IS NULL ORDER BY request")
  static let endLease = Query(
    "UPDATE host SET incarnation = NULL, owner = NULL, link = NULL, last_seen_at = ?, gone_at = ? WHERE id = ?")
  static let unlink = Query("UPDATE host SET link = NULL WHERE id = ? AND link = ?")
  static let noteReport = Query("UPDATE host SET word = ?, last_seen_at = ? WHERE name = ? AND lease = ?")
  static let hostExists = Query("SELECT 1 FROM host WHERE name = ? AND is_forgotten = 0")
  static let setDraining = Query("UPDATE host SET is_draining = ? WHERE name = ?")
  static let setPaused = Query("UPDATE store SET is_paused = ? WHERE id = 1")
  static let wordsAgainst = Query(
    "SELECT s.is_paused, h.is_draining FROM store s, host h WHERE s.id = 1 AND h.id = ?")
  static let assignments = Query(
    """
    SELECT \(candidateList), l.gpus, l.span_id, l.started_at, l.expiring_reason, l.expiring_detail, l.is_simulated
    FROM host h JOIN launch l ON l.host = h.id AND l.ended_at IS NULL JOIN request r ON r.id = l.request
      JOIN identifier i ON i.id = r.identifier
      LEFT JOIN progress p ON p.request = r.id LEFT JOIN payload y ON y.request = coalesce(r.head, r.id)
    WHERE h.name = ? ORDER BY l.request
    """)
}
