package import BatonModel
import Crypto

extension Verbs {
  /// Adds a row to the audit log. In the transaction of a change, it is stored if and only if the change is.
  package func append(_ entry: AuditEntry) throws {
    try need(.audit)
    let head = try auditHead()
    let sequence = head.sequence + 1
    let hash = entry.hash(sequence, after: head.hash)
    try prepare(.insertAudit).run(
      sequence, entry.at, entry.actor, entry.credential, entry.peer, entry.method, entry.object,
      entry.outcome.rawValue, entry.detail, head.hash, hash)
    try prepare(.moveAuditHead).run(sequence, hash)
  }

  package func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) throws -> [AuditRow] {
    let isFirst = filter.isNewestFirst && sequence == 0
    return try prepare(filter.isNewestFirst ? .newestAudit : .audit).all(
      isFirst ? Int64.max : sequence, filter.actor, filter.object, filter.since, filter.method, limit,
      row: Self.auditRow)
  }

  package func auditHead() throws -> AuditHead {
    guard let head = try prepare(.auditHead).first(row: { AuditHead(sequence: $0.int64(0), hash: $0.blob(1)) }) else {
      throw StoreError(.corrupt, "The head of the audit log is missing; restore the store from a backup.")
    }
    return head
  }

  /// Checks rows of the audit log, from the row after `position`.
  func verifyAudit(from position: AuditPosition?, limit: Int) throws -> (verdict: AuditVerdict, next: AuditPosition?) {
    guard let head = try prepare(.auditHead).first(row: AuditEnds.init) else {
      return (AuditVerdict(rows: 0, last: 0, head: [], problem: "the head of the log is missing"), nil)
    }
    var position = position ?? AuditPosition(sequence: head.kept - 1, hash: head.before, rows: 0)
    let rows = try audit(AuditFilter(), after: position.sequence, limit: limit)
    func verdict(_ problem: String?) -> AuditVerdict {
      AuditVerdict(rows: position.rows, last: head.sequence, head: head.hash, problem: problem)
    }
    for row in rows {
      guard row.sequence == position.sequence + 1 else {
        return (verdict("row \(position.sequence + 1) is missing"), nil)
      }
      guard row.previous == position.hash, row.hash == row.entry.hash(row.sequence, after: row.previous) else {
        return (verdict("row \(row.sequence) was changed, or the row before it"), nil)
      }
      position = AuditPosition(sequence: row.sequence, hash: row.hash, rows: position.rows + 1)
    }
    if rows.count == limit { return (verdict(nil), position) }
    guard position.sequence == head.sequence, position.hash == head.hash else {
      return (verdict("the log ends with row \(position.sequence), but row \(head.sequence) was written"), nil)
    }
    return (verdict(nil), nil)
  }

  private static func auditRow(_ row: Columns) -> AuditRow {
    AuditRow(
      sequence: row.int64(0),
      entry: AuditEntry(
        at: row.time(1), actor: row.text(2), credential: row.optionalBlob(3), peer: row.text(4), method: row.text(5),
        object: row.text(6), outcome: AuditEntry.Outcome(rawValue: row.text(7)) ?? .failed, detail: row.text(8)),
      previous: row.blob(9), hash: row.blob(10))
  }

  // MARK: Retention

  /// The oldest rows that are from before `time`, at most `limit`.
  func oldAudit(before time: Timestamp, limit: Int) throws -> [AuditRow] {
    // The times of rows may go back and forth with the clock. So only rows before the first younger one are old.
    Array(try audit(AuditFilter(), after: 0, limit: limit).prefix { $0.entry.at < time })
  }

  /// Deletes the rows up to this one. The chain then begins after it.
  func dropAudit(upTo last: AuditRow) throws {
    try demandStewardship()
    try need(.oldAudit(last.sequence))
    try prepare(.keepAudit).run(last.sequence + 1, last.hash)
    try prepare(.dropAudit).run(last.sequence)
  }
}

/// How far a check of the audit log has come.
struct AuditPosition: Sendable {
  var sequence: Int64
  var hash: [UInt8]
  var rows: Int64
}

/// Where the log begins and ends.
private struct AuditEnds {
  var sequence: Int64
  var hash: [UInt8]
  var kept: Int64
  var before: [UInt8]

  init(_ row: Columns) {
    (sequence, hash, kept, before) = (row.int64(0), row.blob(1), row.int64(2), row.blob(3))
  }
}

extension AuditEntry {
  /// The SHA-256 of the row: of the hash before it, and of each column. The length of each text comes before it, so
  /// that no two rows have the same bytes.
  fileprivate func hash(_ sequence: Int64, after previous: [UInt8]) -> [UInt8] {
    var hasher = SHA256()
    func add(_ number: Int64) { withUnsafeBytes(of: number.bigEndian) { hasher.update(bufferPointer: $0) } }
    func add(_ bytes: [UInt8]) {
      add(Int64(bytes.count))
      hasher.update(data: bytes)
    }
    hasher.update(data: previous)
    add(sequence)
    add(at.nanoseconds)
    add(credential == nil ? 0 : 1)
    add(credential ?? [])
    for text in [actor, peer, method, object, outcome.rawValue, detail] { add(Array(text.utf8)) }
    return Array(hasher.finalize())
  }
}

extension Query {
  static let auditHead = Query("SELECT sequence, hash, kept, before FROM audit_head WHERE id = 1")
  static let moveAuditHead = Query("UPDATE audit_head SET sequence = ?, hash = ? WHERE id = 1")
  static let insertAudit = Query(
    """
    INSERT INTO audit (sequence, at, actor, credential, peer, method, object, outcome, detail, previous, hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
  private static let auditRows =
    "SELECT sequence, at, actor, credential, peer, method, object, outcome, detail, previous, hash FROM audit"
  private static let auditFilter =
    "(?2 IS NULL OR actor = ?2) AND (?3 IS NULL OR object = ?3) AND (?4 IS NULL OR at >= ?4) "
    + "AND (?5 IS NULL OR method = ?5)"
  static let audit = Query("\(auditRows) WHERE sequence > ?1 AND \(auditFilter) ORDER BY sequence LIMIT ?6")
  static let newestAudit = Query("\(auditRows) WHERE sequence < ?1 AND \(auditFilter) ORDER BY sequence DESC LIMIT ?6")
  static let keepAudit = Query("UPDATE audit_head SET kept = ?, before = ? WHERE id = 1")
  static let dropAudit = Query("DELETE FROM audit WHERE sequence <= ?")
}
