import BatonModel
import BatonStore

extension StoreConformance {
  /// Invitations, and the certificates of hosts.
  static let identities: [Case] = [
    Case("an invitation admits one key, and the same key again for ten minutes") { s in
      let invitation = try await s.invite("desk")
      let first = s.certificate("desk", serial: 1, key: 1)
      try expect(try await s.store.certificates(), [], "before anybody has joined")
      try expect(try await s.admit(first, by: invitation), first, "the first join")
      s.now = s.now + .seconds(599)
      try expect(
        try await s.admit(s.certificate("desk", serial: 2, key: 1), by: invitation), first,
        "the same key again gets the certificate that it has")
      try await expectRefusal(.refused, saying: ["already", "invite desk"]) {
        _ = try await s.admit(s.certificate("desk", serial: 3, key: 2), by: invitation)
      }
      s.now = s.now + .seconds(2)
      try await expectRefusal(.refused, saying: ["already"]) {
        _ = try await s.admit(s.certificate("desk", serial: 4, key: 1), by: invitation)
      }
      try expect(try await s.store.certificates(), [first], "in the end")
      let kept = try await s.store.invitations(of: HostName("desk"))
      try expect(kept.map(\.isUsed), [true], "the invitation that was used")
      try expect(try await s.store.invitations(of: HostName("base")), [], "of another host")
    },
    Case("the mark of identities changes with each certificate, credential and revocation") { s in
      var marks = [try await s.store.identityMark()]
      let first = s.certificate("desk", serial: 1, key: 1)
      _ = try await s.admit(first, by: try await s.invite("desk"))
      marks.append(try await s.store.identityMark())
      s.now = s.now + .seconds(60)
      try await s.store.renew(s.certificate("desk", serial: 2, key: 2), after: first.serial, at: s.now)
      marks.append(try await s.store.identityMark())
      try await s.store.revoke(HostName("desk"))
      marks.append(try await s.store.identityMark())
      let credential = s.credential("alice", id: 1)
      try await s.store.issue(credential)
      marks.append(try await s.store.identityMark())
      try await s.store.revoke(credentials: [credential.id])
      marks.append(try await s.store.identityMark())
      try expect(Set(marks).count, marks.count, "different marks")
      try expect(try await s.store.identityMark(), marks.last, "the mark of an unchanged store")
    },
    Case("a wrong secret, an unknown invitation and another host's name are refused alike, and use nothing up") { s in
      let invitation = try await s.invite("desk")
      var (wrong, unknown) = (invitation, invitation)
      wrong.digest[31] ^= 1
      unknown.id[0] ^= 1
      for guess in [wrong, unknown] {
        try await expectRefusal(.refused, saying: ["no invitation with this token"]) {
          _ = try await s.admit(s.certificate("desk", serial: 1, key: 1), by: guess)
        }
      }
      try await expectRefusal(.refused, saying: ["no invitation with this token"]) {
        _ = try await s.admit(s.certificate("base", serial: 1, key: 1), by: invitation)
      }
      try expect(try await s.store.certificates(), [], "nobody has joined")
      _ = try await s.admit(s.certificate("desk", serial: 1, key: 1), by: invitation)
    },
    Case("an invitation ends at its time, and is dropped when others are made") { s in
      let invitation = try await s.invite("desk")
      s.now = s.now + .seconds(900)
      _ = try await s.admit(s.certificate("desk", serial: 1, key: 1), by: invitation)
      let late = try await s.invite("late")
      s.now = s.now + .seconds(901)
      try await expectRefusal(.refused, saying: ["expired", "invite late"]) {
        _ = try await s.admit(s.certificate("late", serial: 2, key: 1), by: late)
      }
      s.now = s.now + .seconds(3600)
      _ = try await s.invite("other")
      try expect(try await s.store.invitation(late.id), nil, "an hour later")
    },
    Case("a certificate is renewed by one of the same host that was not revoked") { s in
      let first = s.certificate("desk", serial: 1, key: 1)
      _ = try await s.admit(first, by: try await s.invite("desk"))
      let second = s.certificate("desk", serial: 2, key: 2)
      try await s.store.renew(second, after: first.serial, at: s.now)
      try expect(try await s.store.certificates(), [first, second], "both are valid")
      for (certificate, serial) in [(s.certificate("base", serial: 3, key: 3), [UInt8(1)]), (second, [7])] {
        try await expectRefusal(.refused, saying: ["revoked"]) {
          try await s.store.renew(certificate, after: serial, at: s.now)
        }
      }
      try await s.store.revoke(HostName("desk"))
      try expect(try await s.store.certificates().map(\.isRevoked), [true, true], "after the revocation")
      try await expectRefusal(.refused, saying: ["desk", "revoked"]) {
        try await s.store.renew(s.certificate("desk", serial: 3, key: 3), after: second.serial, at: s.now)
      }
    },
    Case("a revocation takes back open invitations, spares other hosts, and a new invitation lets the host in") { s in
      let (first, other) = (s.certificate("desk", serial: 1, key: 1), s.certificate("base", serial: 2, key: 2))
      let used = try await s.invite("desk")
      _ = try await s.admit(first, by: used)
      _ = try await s.admit(other, by: try await s.invite("base"))
      let open = try await s.invite("desk")
      try await s.store.revoke(HostName("desk"))
      try await expectRefusal(.refused, saying: ["no invitation"]) {
        _ = try await s.admit(s.certificate("desk", serial: 3, key: 3), by: open)
      }
      try await expectRefusal(.refused, saying: ["already"]) { _ = try await s.admit(first, by: used) }
      try expect(try await s.store.certificates().map(\.isRevoked), [true, false], "only desk's is revoked")
      let again = s.certificate("desk", serial: 4, key: 1)
      _ = try await s.admit(again, by: try await s.invite("desk"))
      try expect(try await s.store.certificates().map(\.isRevoked), [true, false, false], "desk has joined again")
    },
    Case("a host that has to be approved joins with the approved key and no other") { s in
      let invitation = try await s.invite("desk", needsApproval: true)
      let (mine, other) = (s.certificate("desk", serial: 1, key: 1), s.certificate("desk", serial: 2, key: 2))
      func refuse(_ certificate: HostCertificate) async throws {
        try await expectRefusal(.refused, saying: ["approve"]) { _ = try await s.admit(certificate, by: invitation) }
      }
      try await refuse(mine)
      try await s.store.approve(invitation.id, key: mine.key)
      try await refuse(other)
      _ = try await s.admit(mine, by: invitation)
      try expect(try await s.store.certificates(), [mine], "the approved key")
      try await expectRefusal(.refused, saying: ["already"]) { _ = try await s.admit(other, by: invitation) }
      let open = try await s.invite("base")
      for id in [open.id, [9, 9, 9, 9, 9, 9, 9, 9]] {
        try await expectRefusal(.refused, saying: ["no invitation"]) { try await s.store.approve(id, key: mine.key) }
      }
    },
    Case("a number counts only while its host asks, and at most eight keys wait with one invitation") { s in
      let (desk, base) = (
        try await s.invite("desk", needsApproval: true), try await s.invite("base", needsApproval: true)
      )
      func ask(_ number: Int, as host: Invitation, key: UInt8) async throws {
        let waiting = WaitingHost(
          host: host.host, number: "\(100_000 + number)", peer: "ipv4:192.0.2.1:1", at: s.now.steady)
        try await s.store.noteWaiting(waiting, invitation: host.id, key: [UInt8](repeating: key, count: 32))
      }
      func numbers() async throws -> [String] { try await s.store.waitingHosts(at: s.now.steady).map(\.number) }
      for number in 0..<8 { try await ask(number, as: desk, key: UInt8(number)) }
      try await expectRefusal(.overloaded, saying: ["too many"]) { try await ask(8, as: desk, key: 8) }
      try await ask(3, as: desk, key: 3)
      try await ask(9, as: base, key: 9)
      try expect(try await numbers().count, 9, "those that wait")
      let found = try await s.store.waitingHosts(at: s.now.steady)
      try expect(found.first?.host, HostName("base"), "by name")
      // Two keys with one number cannot be told apart, and a number counts for its host only.
      try await ask(9, as: base, key: 10)
      for (host, number) in [("base", "100009"), ("base", "100003"), ("desk", "100009"), ("desk", "")] {
        try await expectRefusal(.notFound, saying: ["no host waits"]) {
          try await s.store.approve(HostName(host), number: number, at: s.now.steady)
        }
      }
      // A token that several hosts show was copied.
      try expect(found.filter { $0.host == desk.host }.map(\.asking), .init(repeating: 8, count: 8), "those of desk")
      try await expectRefusal(.refused, saying: ["8 hosts ask", "192.0.2.1", "baton host revoke desk"]) {
        try await s.store.approve(HostName("desk"), number: "100003", at: s.now.steady)
      }
      try expect(try await s.store.invitation(desk.id)?.approvedKey, nil, "no key is approved")
      s.now = s.now + .seconds(61)
      try await ask(3, as: desk, key: 3)
      try expect(try await s.store.waitingHosts(at: s.now.steady).map(\.asking), [1], "the only one that asks again")
      try await s.store.approve(HostName("desk"), number: "100003", at: s.now.steady)
      try expect(
        try await s.store.invitation(desk.id)?.approvedKey, [UInt8](repeating: 3, count: 32), "the approved key")
      s.now = s.now + .seconds(61)
      try expect(try await numbers(), [], "a minute later")
      try await expectRefusal(.notFound, saying: ["no host waits"]) {
        try await s.store.approve(HostName("desk"), number: "100004", at: s.now.steady)
      }
      try await ask(8, as: desk, key: 8)
      try expect(try await numbers(), ["100008"], "who asks again")
      try await expectRefusal(.refused, saying: ["no invitation"]) {
        try await s.store.noteWaiting(found[0], invitation: [9], key: [UInt8](repeating: 9, count: 32))
      }
    },
    Case("a host that joins again may have another secret") { s in
      let (mine, other) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
      let host = StoreScenario.host
      try await s.store.grantLease(host, StoreScenario.process, link: 1, secret: mine, report: nil, at: s.now)
      _ = try await s.admit(
        s.certificate(host.rawValue, serial: 1, key: 1), by: try await s.invite(host.rawValue))
      try expect(try await s.store.standing(of: host, secret: other), .unclaimed, "the name is free")
    },
    Case("certificates that ended more than 30 days ago are dropped when others are made") { s in
      let first = s.certificate("desk", serial: 1, key: 1)
      _ = try await s.admit(first, by: try await s.invite("desk"))
      s.now = s.now + .seconds(7200)
      let second = s.certificate("base", serial: 2, key: 2)
      _ = try await s.admit(second, by: try await s.invite("base"))
      try expect(try await s.store.certificates(), [first, second], "two hours later")
      s.now = s.now + HostCertificate.rejoinTime + .seconds(3601)
      let next = s.certificate("lamp", serial: 3, key: 3)
      _ = try await s.admit(next, by: try await s.invite("lamp"))
      try expect(try await s.store.certificates(), [next], "30 days later")
    },
  ]
}

extension StoreScenario {
  /// An invitation that is valid for 15 minutes. Its id and secret follow from the name and the time.
  fileprivate func invite(_ host: String, needsApproval: Bool = false) async throws -> Invitation {
    let seed = UInt8(truncatingIfNeeded: host.utf8.reduce(0) { $0 &* 31 &+ Int($1) } &+ Int(now.date.nanoseconds >> 30))
    let taken = try await store.invitation(.init(repeating: seed, count: 8)) != nil
    let id = taken ? seed &+ 101 : seed
    let invitation = Invitation(
      id: .init(repeating: id, count: 8), host: HostName(host), digest: .init(repeating: id, count: 32),
      end: now.date + .seconds(900), principal: "ana", needsApproval: needsApproval)
    try await store.invite(invitation, at: now)
    return invitation
  }

  fileprivate func admit(_ certificate: HostCertificate, by invitation: Invitation) async throws -> HostCertificate {
    try await store.admit(certificate, by: invitation.id, digest: invitation.digest, at: now)
  }

  /// A certificate that is valid for an hour.
  fileprivate func certificate(_ host: String, serial: UInt8, key: UInt8) -> HostCertificate {
    HostCertificate(
      serial: [serial], host: HostName(host), key: .init(repeating: key, count: 32), der: [serial, key],
      end: now.date + .seconds(3600))
  }
}
