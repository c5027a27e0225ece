import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import ContractRows
import Foundation
import GRPCCore
import HostFixtures
import Testing

/// Attacks on the ports and the files of real programs.
extension EndToEnd {
  @Suite(
    "Attacks on ports and files of the real programs are refused", .serialized, .attackedFleet, .timeLimit(.minutes(10))
  )
  struct PortAttackTests {
    private func fleet() throws -> AttackedFleet { try #require(AttackedFleet.current) }

    /// The port of a worker's own HTTPS.
    private func workersHTTPS(_ fleet: AttackedFleet, _ host: String) async throws -> Int {
      try await fleet.processes.join(host)
      let port = ProcessFleet.freePort()
      try await fleet.processes.startWorker(host, adding: ["BATON_HTTPS": "127.0.0.1:\(port)"])
      return port
    }

    @Test("No TLS port of a coordinator or a worker answers without TLS", .refuses(6))
    func plainText() async throws {
      let fleet = try fleet()
      let ports = [
        "workers": try fleet.workers.port, "operators": try fleet.operators.port, "https": fleet.https.port,
        "a worker's https": try await workersHTTPS(fleet, "measured"),
      ]
      let requests = [
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0],
        Array("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8),
        Array("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8),
        Array("SSH-2.0-x\r\n".utf8),
      ]
      try await fleet.changingNothing("without TLS") {
        for (what, port) in ports {
          for request in requests {
            let connection = try RawConnection(port: port)
            connection.send(request)
            let said = await connection.untilClosed()
            // At most an alert of TLS (RFC 8446, section 6).
            #expect(said.isEmpty || said[0] == 21, "\(what): \(String(decoding: said.prefix(80), as: UTF8.self))")
          }
        }
      }
    }

    @Test(
      "HTTP without TLS serves health alone, whatever Host, path or credential a request has", .refuses(36),
      arguments: ["127.0.0.1", "evil.example", "[::1]:80", "127.+1.0.1", "evil@127.0.0.1", "a b", ""])
    func plainHTTP(host: String) async throws {
      let fleet = try fleet()
      let admin = try await fleet.credential("prometheus-\(UInt32.random(in: 0...UInt32.max))", "admin")
      try await fleet.changingNothing("HTTP with Host '\(host)'") {
        for request in ["GET /metrics", "POST /v1/pokes/com.poked.x", "POST /v1/pokes/com.poked.x?priority=10"] {
          for path in [request, request.replacing(" /", with: " //"), request.replacing(" /", with: " /%2e%2e/")] {
            for token in [nil, "\(admin)", fleet.ownersToken] {
              let connection = try RawConnection(port: fleet.processes.http)
              let proof = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
              connection.send(
                "\(path) HTTP/1.1\r\nHost: \(host)\r\n\(proof)Content-Length: 0\r\nConnection: close\r\n\r\n")
              let said = String(decoding: await connection.untilClosed(), as: UTF8.self)
              #expect(said.hasPrefix("HTTP/1.1 4") && !said.contains("baton_"), "\(path): \(said)")
            }
          }
        }
      }
    }

    @Test("Over HTTPS no form of the Host header takes the place of a credential", .refuses(36))
    func hostHeader() async throws {
      let fleet = try fleet()
      try await fleet.changingNothing("Host headers over HTTPS") {
        for host in ["127.0.0.1", "localhost", "evil.example", "[::1]:80", "0127.0.0.1"] {
          for (path, method) in [("/metrics", "GET"), ("/v1/pokes/com.poked.x", "POST")] {
            for token in [nil, "Bearer x", "Bearer \(fleet.ownersToken)"] {
              var request = HTTPSRequest(path, method: method, token: token)
              request.headers.append(("Host", host))
              let answer = try await request.send(to: fleet.name, port: fleet.https.port, trusting: fleet.roots)
              #expect(answer.status == 401 && !answer.text.contains("baton_"), "\(path): \(answer)")
            }
          }
        }
      }
    }

    @Test("A socket folder that others can write to, or that another user owns, is not used by baton", .refuses(3))
    func socketFolder() async throws {
      let fleet = try fleet()
      let folder = fleet.processes.folder + "/run/baton"
      #expect(try await fleet.processes.baton("list").status == 0, "the control")
      defer {
        chown(folder, geteuid(), getegid())
        chmod(folder, 0o700)
      }
      let changes =
        [{ chmod(folder, 0o777) }, { chmod(folder, 0o720) }] + (geteuid() == 0 ? [{ chown(folder, 65534, 65534) }] : [])
      for change in changes {
        #expect(change() == 0)
        let listed = try await fleet.processes.baton("list")
        #expect(listed.status == 69 && listed.errors.contains(folder), "\(listed)")
        chown(folder, geteuid(), getegid())
        chmod(folder, 0o700)
      }
    }

    @Test(
      "baton tells nothing to another fleet's coordinator, and takes no token from an argument or an open file",
      .refuses(1, 22))
    func logins() async throws {
      let fleet = try fleet()
      let token = try await fleet.credential("alice", "read")
      try fleet.processes.write("\(token)\n", to: "token")
      let pasted = fleet.processes.folder + "/token"
      let alice = [
        "HOME": fleet.processes.folder + "/alice", "XDG_CONFIG_HOME": fleet.processes.folder + "/alice",
        "XDG_RUNTIME_DIR": fleet.processes.folder + "/alice",
      ]
      func asAlice(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
        try await Child(.baton, arguments, environment: alice).finished()
      }
      let pin = "\(fleet.authority.pin)"
      chmod(pasted, 0o644)
      let open = try await asAlice("login", fleet.processes.operators, "--pin", pin, "--token-file", pasted)
      #expect(open.status == 77 && open.errors.contains("chmod"), "\(open)")
      let argument = try await asAlice("login", fleet.processes.operators, "--pin", pin, "--token", "\(token)")
      #expect(argument.status == 64, "\(argument)")
      chmod(pasted, 0o600)
      // A person who mixes the ports up is told so, and no message has a place in the TLS library's source code.
      let ports = [
        (fleet.processes.address, "is the port for the workers"), ("\(fleet.https)", "does not speak HTTP/2"),
        ("127.0.0.1:\(fleet.processes.http)", "is not a coordinator of the fleet"),
      ]
      for (address, words) in ports {
        let wrong = try await asAlice("login", address, "--pin", pin, "--token-file", pasted)
        #expect(wrong.status == 77 && wrong.errors.contains(words) && !wrong.errors.contains(".cc:"), "\(wrong)")
      }
      let login = try await asAlice("login", fleet.processes.operators, "--pin", pin, "--token-file", pasted)
      #expect(login.status == 0, "\(login)")
      #expect(try await asAlice("list").status == 0, "the control")

      // The login leads to the coordinator of another fleet, which has taken the port or the end of a tunnel.
      let other = try await AttackedFleet()
      defer { other.processes.stop() }
      let last = try other.lastAudit()
      let file = fleet.processes.folder + "/alice/baton/fleets/default.json"
      let kept = try String(contentsOfFile: file, encoding: .utf8)
      try kept.replacing(fleet.processes.operators, with: other.processes.operators)
        .write(toFile: file, atomically: false, encoding: .utf8)
      for command in ["list", "whoami"] {
        let told = try await asAlice(command)
        #expect(told.status == 77 && told.errors.contains("nothing was sent to it"), "\(told)")
      }
      // A credential of another fleet that arrives is refused, and has a row.
      #expect(try other.audit(after: last).isEmpty)
    }
  }

  @Suite("Attacks on a coordinator process of its own are refused", .timeLimit(.minutes(10)))
  struct OwnFleetAttackTests {
    @Test(
      "A connection that says nothing, or proves nothing, is closed by the coordinator process in time", .refuses(5))
    func silence() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let identity = try await fleet.joined("desk")
      let preface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
      let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      let begin = ContinuousClock.now
      let ports = [try fleet.workers.port, try fleet.operators.port, fleet.https.port]
      let raw = try ports.flatMap { port in
        try [[], [0x16, 3, 1] as [UInt8]].map { bytes in
          let connection = try RawConnection(port: port)
          if !bytes.isEmpty { connection.send(bytes) }
          return connection
        }
      }
      var secure: [TLSConnection] = []
      for bytes in [[], preface, preface + ping] {
        let own = (certificate: identity.certificate, key: identity.key)
        let made = [
          try await TLSConnection(port: ports[0], name: fleet.name, trusting: fleet.roots, own: own),
          try await TLSConnection(port: ports[1], name: fleet.name, trusting: fleet.roots),
        ]
        for connection in made { connection.send(bytes) }
        secure += made
      }
      for connection in raw { _ = await connection.untilClosed() }
      for connection in secure { _ = await connection.untilClosed() }
      // Five seconds, and as much again for a busy machine.
      #expect(ContinuousClock.now - begin < .seconds(10))
      #expect(try await fleet.processes.baton("list").status == 0)
    }

    @Test(
      "After ten wrong credentials in a minute the coordinator process looks nothing up, and a join waits too",
      .refuses(38))
    func rates() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      fleet.processes.coordinator?.stop()
      try await fleet.processes.startCoordinator(servesOthers: true)
      let right = try await fleet.credential("alice", "read")
      func whoAmI(_ token: CredentialToken) async throws -> String {
        let error = try await fleet.error(token) { _ = try await $0.whoAmI(.init(), metadata: $1, options: $2) }
        return error.map { "\($0.code)" } ?? "served"
      }
      #expect(try await whoAmI(right) == "served", "the control")
      for _ in 1...10 { #expect(try await whoAmI(CredentialToken()) == "unauthenticated") }
      try await fleet.changingNothing("the eleventh credential") {
        let answers = [try await whoAmI(CredentialToken()), try await whoAmI(right)]
        #expect(answers == ["resourceExhausted", "resourceExhausted"])
      }
      #expect(
        try fleet.audit().filter { $0.outcome == "denied" }.map(\.detail) == [
          "no valid credential", "too many wrong credentials",
        ])
      let token = try await fleet.invite("desk")
      for _ in 1...5 { await #expect(throws: (any Error).self) { _ = try await fleet.join(JoinToken()) } }
      try await fleet.changingNothing("the sixth join") {
        let error = await #expect(throws: (any Error).self) { _ = try await fleet.join(token) }
        #expect("\(error as Any)".contains("too many attempts to join"), "\(error as Any)")
      }
      #expect(try fleet.audit().last?.detail == "too many attempts to join")
    }
  }
}
