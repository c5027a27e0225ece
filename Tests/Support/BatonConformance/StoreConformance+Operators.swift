import BatonModel
import BatonStore

extension StoreConformance {
  /// Credentials and the audit log.
  static let operators: [Case] = [
    Case("a credential is kept as it was issued, until it has ended") { s in
      let first = s.credential("alice", id: 1)
      var second = s.credential("ci", id: 2)
      second.patterns = ["com.a", "com.b.*"].map { IdentifierPattern(trusted: $0) }
      second.scopes = [.define, .logs]
      try await s.store.issue(first)
      try await s.store.issue(second)
      try expect(try await s.store.credentials(), [first, second], "both")
      s.now = s.now + .seconds(60)
      try await s.store.noteUse(ofCredential: first.id, at: s.now.date)
      try await s.store.revoke(credentials: [second.id, [9]])
      var (used, revoked) = (first, second)
      (used.lastUsedAt, revoked.isRevoked) = (s.now.date, true)
      try expect(try await s.store.credentials(), [used, revoked], "one was used, one was revoked")
      s.now = s.now + .seconds(7200)
      let third = s.credential("bob", id: 3)
      try await s.store.issue(third)
      try expect(try await s.store.credentials(), [third], "two hours later")
    },
    Case("each row of the audit log has the hash of the row before it") { s in
      try expect(try await s.store.verifyAudit().rows, 0, "an empty log")
      try expect(try await s.store.auditHead().sequence, 0, "the head of an empty log")
      for number in 1...3 { try await s.store.append(s.entry("alice", "com.job\(number)")) }
      let rows = try await s.store.audit(AuditFilter(), after: 0, limit: 10)
      try expect(rows.map(\.sequence), [1, 2, 3], "numbers")
      try expect(rows.map(\.entry.object), ["com.job1", "com.job2", "com.job3"], "objects")
      try expect(rows[0].previous, .init(repeating: 0, count: 32), "the first row")
      try expect(Array(rows.dropFirst().map(\.previous)), rows.dropLast().map(\.hash), "the chain")
      let verdict = try await s.store.verifyAudit()
      try expect(verdict, AuditVerdict(rows: 3, last: 3, head: rows[2].hash, problem: nil), "the verdict")
      try expect(try await s.store.auditHead(), AuditHead(sequence: 3, hash: rows[2].hash), "the head")
    },
    Case("rows are found by actor, object and time, in pages") { s in
      for (actor, object) in [("alice", "com.a"), ("bob", "com.b"), ("alice", "com.b")] {
        try await s.store.append(s.entry(actor, object))
        s.now = s.now + .seconds(10)
      }
      let store = s.store
      let find = { (filter: AuditFilter) in try await store.audit(filter, after: 0, limit: 10).map(\.sequence) }
      try expect(try await find(AuditFilter(actor: "alice")), [1, 3], "alice's")
      try expect(try await find(AuditFilter(object: "com.b")), [2, 3], "of com.b")
      try expect(try await find(AuditFilter(actor: "alice", object: "com.b")), [3], "both")
      let since = s.now.date + .seconds(-20)
      try expect(try await find(AuditFilter(since: since)), [2, 3], "of the last 20 seconds")
      try expect(try await s.store.audit(AuditFilter(), after: 1, limit: 1).map(\.sequence), [2], "the second page")
      let method = s.entry("alice", "com.a").method
      try expect(try await find(AuditFilter(actor: "bob", method: method)), [2], "of a method")
      try expect(try await find(AuditFilter(method: "Nothing")), [], "of another method")
      try expect(try await find(AuditFilter(actor: "alice", isNewestFirst: true)), [3, 1], "the newest first")
      let newest = AuditFilter(isNewestFirst: true)
      try expect(try await s.store.audit(newest, after: 3, limit: 1).map(\.sequence), [2], "the page before the newest")
    },
    Case("a row is stored with the change of its call, or not at all") { s in
      let call = AuditedCall(s.entry("alice", "com.a"))
      try await AuditedCall.$current.withValue(call) { [store = s.store] in try await store.setPaused(true) }
      try expect(call.end(), nil, "the entry is stored")
      let failed = AuditedCall(s.entry("alice", "com.b"))
      try await expectRefusal(.notFound, saying: []) {
        try await AuditedCall.$current.withValue(failed) { [store = s.store, now = s.now] in
          try await store.setDraining(HostName("nowhere"), true, at: now)
        }
      }
      try expect(failed.end() != nil, true, "the entry of the failed call is still to be stored")
      try expect(
        try await s.store.audit(AuditFilter(), after: 0, limit: 10).map(\.entry.object), ["com.a"], "the rows")
    },
    Case("a call of several changes has one row") { s in
      let call = AuditedCall(s.entry("alice", "com.a"))
      try await AuditedCall.$current.withValue(call) { [store = s.store] in
        try await store.setPaused(true)
        try await store.setPaused(false)
      }
      try expect(try await s.store.verifyAudit().rows, 1, "rows")
    },
    Case("old rows leave the log from its beginning, and the chain stays whole") { s in
      for number in 1...4 {
        try await s.store.append(s.entry("alice", "com.job\(number)"))
        s.now = s.now + .seconds(10)
      }
      let old = try await s.store.oldAudit(before: s.now.date + .seconds(-20), limit: 10)
      try expect(old.map(\.sequence), [1, 2], "the rows from before 20 seconds")
      try await s.store.dropAudit(upTo: old[1])
      try expect(try await s.store.audit(AuditFilter(), after: 0, limit: 10).map(\.sequence), [3, 4], "what is left")
      let verdict = try await s.store.verifyAudit()
      try expect(verdict.problem, nil, "the chain")
      try expect(verdict.rows, 2, "rows")
      try await s.store.append(s.entry("alice", "com.job5"))
      try expect(try await s.store.verifyAudit().last, 5, "numbers go on")
    },
  ]
}

extension StoreScenario {
  /// A credential that is valid for an hour.
  func credential(_ name: String, id: UInt8) -> Credential {
    Credential(
      id: .init(repeating: id, count: 8), name: name, digest: .init(repeating: id, count: 32), scopes: [.submit],
      end: now.date + .seconds(3600), createdAt: now.date, createdBy: "somebody")
  }

  fileprivate func entry(_ actor: String, _ object: String) -> AuditEntry {
    AuditEntry(
      at: now.date, actor: actor, credential: [1, 2], peer: "ipv4:192.0.2.7:50312", method: "Cancel", object: object)
  }
}
