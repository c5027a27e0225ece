package import BatonModel

/// What the steward may forget.
struct Forgettable: Sendable {
  /// Hosts that have no lease, with the time since when, on the steady clock; `nil` if that is not known.
  var hosts: [(name: HostName, goneAt: Timestamp?)] = []
  /// For the row numbers of hosts, up to which number the changes of their conditions are too old.
  var conditions: [(host: Int64, upTo: Int64)] = []
  /// Whether there may be more.
  var isFull = false

  var isEmpty: Bool { hosts.isEmpty && conditions.isEmpty }
}

/// What one step has forgotten.
package struct Forgotten: Hashable, Sendable {
  package var hosts: [HostName]
  /// What became of the transfers of these hosts.
  package var transfers = TransferNews()
  /// Whether there may be more.
  package var hasMore: Bool

  package init(hosts: [HostName] = [], hasMore: Bool = false) { (self.hosts, self.hasMore) = (hosts, hasMore) }
}

extension Verbs {
  /// Forgets a host that is gone: it is listed no more, and its evictions, its drain, its last report, its history and
  /// its secret go. A worker that comes back with this name is a new host. The transfers of the host end as failed.
  /// - Throws: `.notFound` if the host is unknown; `.refused` if a worker process holds its lease, or launches are
  ///   open.
  @discardableResult
  package func forgetHost(_ name: HostName, at now: Moment) throws -> TransferNews {
    try requireHost(name)
    guard let host = try host(name) else { return TransferNews() }
    guard host.incarnation == nil else {
      throw StoreError(
        .refused,
        """
        \(name) is not gone: a worker holds its lease. Stop the worker, and forget the host when 'baton hosts' shows it \
        as gone.
        """)
    }
    return try forget(host.id, name, withSecret: true, at: now)
  }

  private func forget(_ host: Int64, _ name: HostName, withSecret: Bool, at now: Moment) throws -> TransferNews {
    try need(.launchesOn(host))
    guard try prepare(.openOnHost).all(host, row: { _ in 1 }).isEmpty else {
      throw StoreError(.refused, "\(name) has launches that did not end yet; try again when they have ended.")
    }
    let last = try prepare(.changesOfHost).first(host) { $0.int64(0) } ?? 0
    try need(.conditions(host, upTo: last))
    try prepare(.dropConditions).run(host, last)
    try prepare(.dropEvictions).run(host)
    knownEvictions = nil
    try prepare(.forgetHost).run(host)
    if withSecret { try prepare(.forgetSecret).run(name.rawValue) }
    return try loseTransfers(of: host, name, at: now)
  }

  /// Finds what is older than `limits` allows, at most one step of each kind.
  func forgettable(_ limits: RetentionLimits, at now: Moment) throws -> Forgettable {
    let step = max(1, limits.step)
    var found = Forgettable()
    found.hosts = try prepare(.goneHosts).all(now.steady + (.zero - limits.hostsFor), step) { row in
      (name: HostName(row.text(0)), goneAt: row.optionalTime(1))
    }
    let conditions = try prepare(.oldConditions).all(now.steady + (.zero - limits.conditionsFor), step) { row in
      (host: row.int64(0), upTo: row.int64(1), count: row.int(2))
    }
    found.conditions = conditions.map { ($0.host, $0.upTo) }
    found.isFull = found.hosts.count == step || conditions.reduce(0) { $0 + $1.count } == step
    return found
  }

  /// Forgets what was found, unless it has changed meanwhile. A host keeps its secret, so that no other worker takes
  /// its name. A host that is gone since an unknown time is gone since now.
  func forget(_ found: Forgettable, _ limits: RetentionLimits, at now: Moment) throws -> Forgotten {
    try demandStewardship()
    var forgotten = Forgotten(hasMore: found.isFull)
    for one in found.conditions {
      try need(.hostRow(one.host))
      try need(.conditions(one.host, upTo: one.upTo))
      try prepare(.dropConditions).run(one.host, one.upTo)
    }
    for one in found.hosts {
      guard let host = try host(one.name), host.incarnation == nil else { continue }
      let goneAt = try prepare(.goneAt).first(host.id) { $0.optionalTime(0) } ?? nil
      if let goneAt, goneAt < now.steady + (.zero - limits.hostsFor) {
        forgotten.transfers.join(try forget(host.id, one.name, withSecret: false, at: now))
        forgotten.hosts.append(one.name)
      } else if goneAt == nil {
        try prepare(.setGone).run(now.steady, host.id)
      }
    }
    return forgotten
  }
}

extension Query {
  static let forgetHost = Query(
    "UPDATE host SET is_forgotten = 1, is_draining = 0, word = NULL, gone_at = NULL WHERE id = ?")
  static let dropEvictions = Query("DELETE FROM eviction WHERE host = ?")
  static let goneAt = Query("SELECT gone_at FROM host WHERE id = ?")
  static let setGone = Query("UPDATE host SET gone_at = ? WHERE id = ?")
  static let goneHosts = Query(
    """
    SELECT name, gone_at FROM host
    WHERE incarnation IS NULL AND is_forgotten = 0 AND coalesce(gone_at, 0) < ? ORDER BY coalesce(gone_at, 0) LIMIT ?
    """)
  /// The changes of a host are numbered in the order of their times, so all up to the highest one found are old.
  static let oldConditions = Query(
    """
    SELECT host, max(number), count(*) FROM (
      SELECT host, number FROM condition_change WHERE steady < ? ORDER BY steady LIMIT ?) AS old
    GROUP BY host ORDER BY host
    """)
}
