import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonModel
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonCommands

/// `baton login`, `logout`, `whoami`, `credential` and `audit`.
@Suite struct PeopleTests {
  private let pin = "sha256:" + String(repeating: "0f", count: 32)
  private let token = "bt1_" + String(repeating: "01", count: 8) + "_" + String(repeating: "02", count: 32)

  /// Runs `body` with a folder for configuration files.
  private func withFolder(_ body: (String, inout World) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var world = World()
    world.variables["XDG_CONFIG_HOME"] = folder
    try await body(folder, &world)
  }

  @Test func `a login is kept for this user alone, and logout forgets it`() async throws {
    try await withFolder { folder, world in
      world.secret = " \(token)\n"
      let run = await world.baton("login", "base:7422", "--pin", pin, "--fleet", "work")
      #expect(run.status == 0, "\(run.error)")
      #expect(run.output.hasPrefix("logged in to work as ana"))
      #expect(world.backend.logins.withLock { $0 } == ["base:7422 \(pin) \(token)"])
      let path = folder + "/baton/fleets/work.json"
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      let login = try #require(try FleetLogin.read("work", in: folder + "/baton"))
      #expect(login.token.description == token)
      #expect(login.address == "base:7422")
      #expect(FleetLogin.names(in: folder + "/baton") == ["work"])
      let who = await world.baton("whoami", "--fleet", "work")
      #expect(who.output.contains("Coordinator  fleet work, base:7422"), "\(who)")
      let both = await world.baton("logout", "work", "--fleet", "work")
      #expect(both.status == 64 && both.error.contains("Name the fleet once"))
      let out = await world.baton("logout", "--fleet", "work")
      #expect(out.status == 0 && out.output == "logged out of work\n")
      let again = await world.baton("logout", "work")
      #expect(again.status == 3)
      #expect(try FleetLogin.read("work", in: folder + "/baton") == nil)
    }
  }

  @Test(.refuses(22)) func `a token is not taken from a file that others may read, nor from an argument`() async throws
  {
    try await withFolder { folder, world in
      let file = folder + "/token"
      try Data("\(token)\n".utf8).write(to: URL(fileURLWithPath: file))
      chmod(file, 0o644)
      let open = await world.baton("login", "base:7422", "--pin", pin, "--token-file", file)
      #expect(open.status == 77)
      #expect(open.error.contains("mode 644"))
      chmod(file, 0o600)
      let run = await world.baton("login", "base:7422", "--pin", pin, "--token-file", file)
      #expect(run.status == 0, "\(run.error)")
      #expect(await world.baton("login", "base:7422", "--pin", pin, "--token", token).status == 64)
      let login = folder + "/baton/fleets/default.json"
      chmod(login, 0o640)
      #expect(throws: IdentityError.self) { try FleetLogin.read("default", in: folder + "/baton") }
    }
  }

  @Test(arguments: ["bt1_12", "", "bj1_0101010101010101_" + String(repeating: "02", count: 32)])
  func `a malformed token is a usage error, and is not repeated`(text: String) async throws {
    try await withFolder { _, world in
      world.secret = text
      let run = await world.baton("login", "base:7422", "--pin", pin)
      #expect(run.status == 64)
      #expect(text.isEmpty || !run.error.contains(text))
      #expect(world.backend.logins.withLock { $0 }.isEmpty)
    }
  }

  @Test func `a new credential prints its token alone to standard output`() async throws {
    let run = await World().baton(
      "credential", "create", "alice", "--scope", "submit,read", "--pattern", "com.b.*", "--pattern", "com.a")
    try Golden.expect(run.transcript, is: "credential-create")
    let json = await World().baton("credential", "create", "alice", "--scope", "submit", "-o", "json")
    try Golden.expect(json.transcript, is: "credential-create-json")
  }

  @Test func `the list of credentials says what each permits, and whether it still does`() async throws {
    let now = now
    let world = World {
      let digest = [UInt8](repeating: 1, count: 32)
      let patterns = ["com.a.*", "com.b"].map { IdentifierPattern($0)! }
      $0.credentials = [
        Credential(
          id: .init(repeating: 1, count: 8), name: "alice", digest: digest, scopes: [.submit, .logs],
          patterns: patterns, end: now + .seconds(86_400), createdAt: now, createdBy: "ana",
          lastUsedAt: now + .seconds(-60)),
        Credential(
          id: .init(repeating: 2, count: 8), name: "bob", digest: digest, scopes: [.admin], end: now + .seconds(-1),
          createdAt: now, createdBy: "ana"),
        Credential(
          id: .init(repeating: 3, count: 8), name: "ci", digest: digest, scopes: [.metrics], end: now,
          createdAt: now, createdBy: "ana", isRevoked: true),
      ]
    }
    try Golden.expect(await world.baton("credential", "list").transcript, is: "credential-list")
    try Golden.expect(await world.baton("credential", "list", "-o", "json").transcript, is: "credential-list-json")
  }

  @Test(arguments: [
    (RevokedCredentials(count: 2), "alice: revoked, 2 credentials that had not ended\n"),
    (
      RevokedCredentials(count: 1, before: 1),
      "alice: revoked, 1 credential that had not ended; 1 other revoked before\n"
    ),
    (RevokedCredentials(count: 0, before: 1), "alice: was revoked before; nothing has changed\n"),
    (RevokedCredentials(count: 0), "alice: revoked, and had ended before\n"),
  ])
  func `a credential that was revoked before is not counted again`(revoked: RevokedCredentials, says: String) async {
    let run = await World { $0.revoked = revoked }.baton("credential", "revoke", "alice")
    #expect(run.status == 0 && run.output == says)
  }

  @Test func `whoami says whom the coordinator takes one for`() async throws {
    try Golden.expect(await World().baton("whoami").transcript, is: "whoami-owner")
    let now = now
    let world = World {
      $0.caller = Caller(
        name: "alice",
        credential: Credential(
          id: .init(repeating: 1, count: 8), name: "alice", digest: [], scopes: [.submit],
          patterns: [IdentifierPattern("com.a.*")!], end: now + .seconds(86_400), createdAt: now, createdBy: ""))
    }
    try Golden.expect(await world.baton("whoami", "--fleet", "work").transcript, is: "whoami")
    try Golden.expect(await world.baton("whoami", "-o", "json").transcript, is: "whoami-json")
  }

  private func row(_ number: Int64, _ actor: String, _ outcome: AuditEntry.Outcome) -> AuditRow {
    let entry = AuditEntry(
      at: now, actor: actor, credential: actor.isEmpty ? nil : [1, 2], peer: "ipv4:192.0.2.7:50312", method: "Apply",
      object: "com.a\u{1B}[31m", outcome: outcome, detail: "needs the scope 'define'")
    return AuditRow(
      sequence: number, entry: entry, previous: .init(repeating: UInt8(number - 1), count: 32),
      hash: .init(repeating: UInt8(number), count: 32))
  }

  private func audited() -> World {
    let rows = [row(1, "alice", .done), row(2, "", .denied)]
    return World {
      $0.audit = rows
      $0.verdict = AuditVerdict(rows: 2, last: 2, head: rows[1].hash, problem: nil)
    }
  }

  @Test func `the audit log is a table, or JSON`() async throws {
    let world = audited()
    try Golden.expect(await world.baton("audit").transcript, is: "audit")
    try Golden.expect(await world.baton("audit", "-o", "jsonl").transcript, is: "audit-jsonl")
    try Golden.expect(await world.baton("audit", "-o", "json").transcript, is: "audit-json")
  }

  @Test(.refuses(29)) func `verify fails if a row is wrong, or a known head is not in the log`() async throws {
    let world = audited()
    let head = String(repeating: "02", count: 32)
    #expect(await world.baton("audit", "verify").output.contains("Head  2:\(head)"))
    #expect(await world.baton("audit", "verify", "--head", "2:\(head)").status == 0)
    let other = await world.baton("audit", "verify", "--head", "1:\(head)")
    #expect(other.status == 1)
    #expect(other.error.contains("row 1 is not the one with this hash"))
    world.backend.coordinator.state.withLock { $0.verdict.problem = "row 2 is missing" }
    let run = await world.baton("audit", "verify")
    #expect(run.status == 1)
    #expect(run.error.contains("not whole: row 2 is missing"))
  }
}
