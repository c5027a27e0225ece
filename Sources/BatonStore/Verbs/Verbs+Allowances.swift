internal import BatonModel

/// Daily allowances (contract, row 17): what is used stands in the rows of the definition's pattern and of the host,
/// written back once per transaction.
extension Verbs {
  /// Counts a launch that ends now.
  func charge(_ launch: LaunchedRequest, pattern id: Int64, at now: Moment) throws {
    let duration = now.steady - launch.startedSteady
    var row = try pattern(id)
    row.use.charge(duration, at: now.steady)
    patterns[id] = row
    changedPatterns.insert(id)
    var use = try hostUse(launch.host)
    use.charge(duration, at: now.steady)
    hostUses[launch.host] = use
    changedHosts.insert(launch.host)
  }

  private func hostUse(_ host: Int64) throws -> DailyUse {
    if let known = hostUses[host] { return known }
    return try prepare(.hostUse).first(host) { Self.use($0, from: 0) } ?? DailyUse()
  }

  func writeHostUses() throws {
    for host in changedHosts.sorted() {
      guard let use = hostUses[host] else { preconditionFailure("the use of a charged host is not known") }
      try prepare(.setHostUse).run(use.day, use.used.nanoseconds, host)
    }
    changedHosts.removeAll(keepingCapacity: true)
  }

  /// Two columns: day and nanoseconds.
  static func use(_ row: Columns, from index: Int32) -> DailyUse {
    DailyUse(day: row.int64(index), used: row.duration(index + 1))
  }

  /// What is used of allowances, of patterns that used any.
  func patternUses() throws -> [IdentifierPattern: DailyUse] {
    let rows = try prepare(.patternUses).all { (IdentifierPattern(trusted: $0.text(0)), Self.use($0, from: 1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}

extension Query {
  static let hostUse = Query("SELECT use_day, used FROM host WHERE id = ?")
  static let setHostUse = Query("UPDATE host SET use_day = ?, used = ? WHERE id = ?")
  static let patternUses = Query("SELECT name, use_day, used FROM pattern WHERE used > 0 ORDER BY name")
}
