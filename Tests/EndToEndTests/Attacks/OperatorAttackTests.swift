import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import ContractRows
import Foundation
import GRDB
import GRPCCore
import HostFixtures
import HostileDefinitions
import SwiftProtobuf
import Testing

/// Attacks of callers with a credential that does not permit the call, or with none, on a coordinator process.
extension EndToEnd {
  @Suite("Attacks of operators on the real programs are refused", .serialized, .attackedFleet, .timeLimit(.minutes(10)))
  struct OperatorAttackTests {
    private func fleet() throws -> AttackedFleet { try #require(AttackedFleet.current) }

    @Test("Each method permits exactly the identities of the matrix, also over the real ports", .refuses(18, 23))
    func matrix() async throws {
      let fleet = try fleet()
      let gone = try await fleet.credential("gone", "admin")
      #expect(try await fleet.processes.baton("credential", "revoke", "gone").status == 0)
      for identity in MethodMatrix.Identity.allCases where identity != .ended {
        let authorization: String? =
          switch identity {
          case .nobody, .ended: nil
          case .wrongToken: "Bearer \(CredentialToken())"
          case .ownersToken: "Bearer \(fleet.ownersToken)"
          case .revoked: "Bearer \(gone)"
          case .read, .logs, .submit, .operate, .define, .admin, .metrics:
            "Bearer \(try await fleet.credential("one-\(identity.rawValue)", identity.rawValue))"
          }
        // What is permitted may change something: only what is refused must not.
        func call(_ methods: [String], _ isPermitted: Bool) async throws {
          let codes = try await MethodMatrix.codes(
            of: methods, authorization, at: try fleet.operators, .pin(fleet.authority.pin))
          for (method, code) in codes {
            let isRefused = [.unauthenticated, .permissionDenied, .unimplemented].contains(code)
            #expect(isRefused != isPermitted, "\(method) as \(identity): \(String(describing: code))")
          }
        }
        let permitted = MethodMatrix.methods.filter { MethodMatrix.table[$0]?.contains(identity) ?? false }
        try await fleet.changingNothing("\(identity)") {
          try await call(MethodMatrix.methods.filter { !permitted.contains($0) }, false)
        }
        // A new root would be announced to the hosts of the other tests; `newRoot` has it.
        try await call(permitted.filter { $0 != "Operators/RotateRoot" }, true)
        _ = try await fleet.processes.baton("resume")
      }
      let identity = try await fleet.joined("desk")
      try await fleet.changingNothing("a host's certificate") {
        let methods = MethodMatrix.methods.filter { !$0.hasPrefix("Workers/") }
        for (method, code) in try await MethodMatrix.codes(of: methods, nil, at: try fleet.workers, .host(identity)) {
          #expect(code == .unimplemented, "\(method): \(code as Any)")
        }
      }
    }

    @Test("A new root is made for an admin, and for no other credential", .refuses(18))
    func newRoot() async throws {
      // This test changes the roots of its fleet.
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      func rotate(_ identity: MethodMatrix.Identity) async throws -> RPCError.Code? {
        let token = try await fleet.credential("one-\(identity)", identity.rawValue)
        return try await MethodMatrix.code(
          of: "Operators/RotateRoot", "Bearer \(token)", at: try fleet.operators, .pin(fleet.authority.pin))
      }
      for identity in [MethodMatrix.Identity.read, .logs, .submit, .operate, .define, .metrics] {
        #expect(try await rotate(identity) == .permissionDenied, "\(identity)")
      }
      #expect(try await rotate(.admin) == nil)
    }

    @Test("What the patterns of a credential do not cover is answered as what does not exist", .refuses(19))
    func patterns() async throws {
      let fleet = try fleet()
      for name in ["com.mine.one", "com.other.one"] {
        try fleet.processes.write(
          "identifier: \(name)\nkind: processing\nwork: {command: ['true']}\n", to: "\(name).yaml")
        #expect(try await fleet.processes.baton("submit", "-f", "\(name).yaml").status == 0)
      }
      let token = try await fleet.credential("narrow", "operate,define", patterns: ["com.mine.*"])
      typealias Call = @Sendable (AttackedFleet.Operators, Metadata, CallOptions, String) async throws -> Void
      @Sendable func shown(_ name: String) -> Baton_V1_ShowRequest { .with { $0.identifier = name } }
      let calls: [Call] = [
        { _ = try await $0.show(shown($3), metadata: $1, options: $2) },
        { _ = try await $0.explain(shown($3), metadata: $1, options: $2) },
        { _ = try await $0.trace(shown($3), metadata: $1, options: $2) },
        { _ = try await $0.redefine(shown($3), metadata: $1, options: $2) },
        { client, metadata, options, name in
          _ = try await client.setSpread(
            .with { ($0.identifier, $0.lanes) = (name, 2) }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          _ = try await client.setPriority(
            .with { ($0.identifier, $0.priority) = (name, "utility") }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          _ = try await client.shards(.with { $0.identifier = name }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          try await client.watch(shown(name), metadata: metadata, options: options) {
            for try await _ in $0.messages {}
          }
        },
        { client, metadata, options, name in
          _ = try await client.cancel(.with { $0.identifier = name }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          _ = try await client.retry(.with { $0.identifier = name }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          _ = try await client.simulateLaunch(.with { $0.identifier = name }, metadata: metadata, options: options)
        },
        { client, metadata, options, name in
          _ = try await client.remove(.with { $0.pattern = name }, metadata: metadata, options: options)
        },
      ]
      try await fleet.changingNothing("foreign names") {
        for (number, call) in calls.enumerated() {
          let there = try await fleet.error(token) { try await call($0, $1, $2, "com.other.one") }
          let absent = try await fleet.error(token) { try await call($0, $1, $2, "com.other.two") }
          #expect(there != nil && there?.code == absent?.code, "call \(number): \(there as Any), \(absent as Any)")
          #expect(there?.message == absent?.message.replacing("com.other.two", with: "com.other.one"), "call \(number)")
        }
        let wide = try await fleet.error(token) {
          let definition = try AttackedFleet.definition("com.*")
          _ = try await $0.apply(.with { $0.definitions = [definition] }, metadata: $1, options: $2)
        }
        #expect(wide != nil)
      }
      let listed = try await fleet.asOperator(token) {
        try await $0.list(.with { $0.limit = 100 }, metadata: $1, options: $2).requests.map(\.identifier)
      }
      #expect(listed == ["com.mine.one"])
    }

    @Test(
      "A submitter is who its credential says, applies nothing, and pokes with no priority of operators",
      .refuses(21, 23))
    func principal() async throws {
      let fleet = try fleet()
      try fleet.processes.write(
        "identifier: com.poked.*\nkind: processing\nwork: {command: ['true']}\n", to: "poked.yaml")
      #expect(try await fleet.processes.baton("apply", "poked.yaml").status == 0)
      let token = try await fleet.credential("mallory", "submit")
      @Sendable func submit(
        _ name: String, by principal: String, poke: Int32? = nil
      ) async throws -> RPCError? {
        try await fleet.error(token) { client, metadata, options in
          let item = Baton_V1_SubmitRequest.Item.with {
            ($0.id, $0.identifier) = (name, name)
            if let poke { $0.poke = poke }
          }
          _ = try await client.submit(
            .with { ($0.items, $0.principal) = ([item], principal) }, metadata: metadata, options: options)
        }
      }
      try await fleet.changingNothing("a submitter that wants more") {
        #expect(try await submit("com.poked.now", by: "mallory", poke: 10)?.code == .permissionDenied)
        let applied = try await fleet.error(token) {
          let definition = try AttackedFleet.definition("com.mallory")
          _ = try await $0.apply(.with { $0.definitions = [definition] }, metadata: $1, options: $2)
        }
        #expect(applied?.code == .permissionDenied)
        for forged in ["ada\nforged", "\u{1B}[2J", String(repeating: "x", count: 256)] {
          #expect(try await submit("com.poked.forged", by: forged)?.code == .invalidArgument)
        }
      }
      #expect(try await submit("com.poked.later", by: "root") == nil)
      let shown = try await fleet.processes.baton("show", "com.poked.later", "-o", "json").output
      #expect(shown.contains("mallory") && !shown.contains("root"), "\(shown)")
    }

    @Test(
      "A call that exceeds a limit by one is refused by the coordinator process with the limit's name", .refuses(25))
    func limits() async throws {
      let fleet = try fleet()
      let token = try await fleet.credential("large", "admin")
      try await fleet.changingNothing("one more than each limit") {
        let login = try FleetLogin(address: fleet.processes.operators, root: fleet.authority.root, token: token)
        try await CoordinatorClient.withSecureClient(try fleet.operators, .login(login)) { transport, _ in
          let client = CallLimits.Client(transport, token)
          for (limit, call) in CallLimits.calls {
            let over = try await CallLimits.error(client, call, limit.most + 1)
            #expect(over?.code == .invalidArgument, "\(limit.name): \(over as Any)")
            #expect(over?.message.contains("\(limit.most)") == true, "\(limit.name): \(over as Any)")
          }
        }
      }
    }

    @Test("Each hostile definition is refused over TLS too, with its field", .refuses(24))
    func definitions() async throws {
      let fleet = try fleet()
      let token = try await fleet.credential("author", "define")
      try await fleet.changingNothing("hostile definitions") {
        try await fleet.asOperator(token) { client, metadata, options in
          for hostile in HostileDefinition.all {
            let error = await #expect(throws: RPCError.self, "\(hostile)") {
              _ = try await client.apply(
                .with { $0.definitions = [Data(hostile.json.utf8)] }, metadata: metadata, options: options)
            }
            #expect(error?.code == .invalidArgument, "\(hostile)")
          }
        }
      }
    }

    @Test("The stream of a credential ends when it is revoked, and no further call is served", .refuses(20))
    func revokedStream() async throws {
      let fleet = try fleet()
      try fleet.processes.write(
        "identifier: com.watched\nkind: processing\nwork: {command: ['true']}\n", to: "watched.yaml")
      #expect(try await fleet.processes.baton("submit", "-f", "watched.yaml").status == 0)
      let token = try await fleet.credential("watcher", "read")
      let error = try await fleet.error(token) { client, metadata, options in
        try await client.watch(.with { $0.identifier = "com.watched" }, metadata: metadata, options: options) {
          response in
          for try await _ in response.messages {
            #expect(try await fleet.processes.baton("credential", "revoke", "watcher").status == 0)
          }
        }
      }
      #expect(error?.code == .unauthenticated && error?.message.contains("was revoked") == true, "\(error as Any)")
      try await fleet.changingNothing("a revoked credential") {
        let after = try await fleet.error(token) { _ = try await $0.whoAmI(.init(), metadata: $1, options: $2) }
        #expect(after?.code == .unauthenticated)
      }
    }

    @Test("Refused calls and changes have rows, and a row that is changed or cut off is found", .refuses(29))
    func auditLog() async throws {
      // This test damages its store.
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let token = try await fleet.credential("nosy", "read")
      let last = try fleet.lastAudit()
      let pause = try await fleet.error(token) {
        _ = try await $0.pause(.with { $0.isPaused = true }, metadata: $1, options: $2)
      }
      #expect(pause?.code == .permissionDenied)
      #expect(try await fleet.processes.baton("pause").status == 0)
      #expect(try await fleet.processes.baton("resume").status == 0)
      let rows = try fleet.audit(after: last).map { "\($0.method) \($0.outcome)" }
      #expect(rows == ["Pause denied", "Pause done", "Resume done"])
      #expect(try await fleet.processes.baton("audit", "verify").status == 0)
      for change in [
        "UPDATE audit SET actor = 'nobody' WHERE sequence = 1", "DELETE FROM audit WHERE sequence = 1",
        "DELETE FROM audit",
      ] {
        #expect(throws: DatabaseError.self, "\(change)") { try fleet.editing { try $0.execute(sql: change) } }
      }
      try await fleet.restart {
        try fleet.editing {
          try $0.execute(sql: "DROP TRIGGER audit_is_not_changed")
          try $0.execute(sql: "UPDATE audit SET actor = 'nobody' WHERE sequence = 2")
        }
      }
      let verdict = try await fleet.processes.baton("audit", "verify")
      #expect(verdict.status != 0 && (verdict.errors + verdict.output).contains("2"), "\(verdict)")
    }
  }
}
