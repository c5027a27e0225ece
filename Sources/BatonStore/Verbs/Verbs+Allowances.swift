internal import BatonModel

/// Daily allowances (contract, row 17). The launch time that is used is kept in the coordinator's share of the
/// definition's pattern and in the row of the host. Each row is written back once per transaction.
extension Verbs {
  /// Adds the duration of a launch that ends now to the use of its definition and of its host.
  func charge(_ launch: LaunchedRequest, pattern id: Int64, at now: Moment) throws {
    let duration = now.steady - launch.startedSteady
    try change(id) { $0.use.charge(duration, at: now.steady) }
    var use = try hostUse(launch.host)
    use.charge(duration, at: now.steady)
    hostUses[launch.host] = use
    changedHosts.insert(launch.host)
  }

  /// The use of a host, as changed by this transaction or as stored.
  private func hostUse(_ host: Int64) throws -> DailyUse {
    if let known = hostUses[host] { return known }
    try need(.hostRow(host))
    return try prepare(.hostUse).first(host) { Self.use($0, from: 0) } ?? DailyUse()
  }

  func writeHostUses() throws {
    for host in changedHosts.sorted() {
      guard let use = hostUses[host] else { preconditionFailure("the use of a charged host is not known") }
      try prepare(.setHostUse).run(use.day, use.used.nanoseconds, host)
    }
    changedHosts.removeAll(keepingCapacity: true)
  }

  /// Reads two columns: the day, and the nanoseconds used on it.
  static func use(_ row: Columns, from index: Int32) -> DailyUse {
    DailyUse(day: row.int64(index), used: row.duration(index + 1))
  }

  /// What is used of daily allowances, for the patterns that used any.
  func patternUses() throws -> [IdentifierPattern: DailyUse] {
    let rows = try prepare(.patternUses).all { (IdentifierPattern(trusted: $0.text(0)), Self.use($0, from: 1)) }
    return Dictionary(rows) { $0.joined(with: $1) }
  }
}

extension Query {
  static let hostUse = Query("SELECT use_day, used FROM host WHERE id = ?")
  static let setHostUse = Query("UPDATE host SET use_day = ?, used = ? WHERE id = ?")
  static let patternUses = Query(
    "SELECT p.name, s.use_day, s.used FROM share s JOIN pattern p ON p.id = s.pattern WHERE s.used > 0 ORDER BY p.name")
}
