import BatonIdentity
import BatonModel
import BatonWire
import ContractRows
import Foundation
import FreshDatabases
import HostFixtures
import Testing
import X509

/// Attacks on the TLS listeners of a coordinator process. Their numbers are those of the list of attacks that Baton has
/// to refuse.
extension EndToEnd {
  @Suite("Attacks on the TLS listeners are refused", .timeLimit(.minutes(10)))
  struct AttackTests {
    private static func attack(_ arguments: String...) throws -> Child {
      let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "attacks.py").path
      return try Child(path: "/usr/bin/env", ["python3", script] + arguments)
    }

    private static func port(_ address: String) -> String { String(address.split(separator: ":")[1]) }

    @Test(
      "A resumed TLS session proves no more than a new one: a revoked host is refused (T8)", .refuses(8),
      arguments: [true, false])
    func resumption(isRevoked: Bool) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(servesOthers: true)
      try await fleet.join("desk")
      let (request, fifo) = (fleet.folder + "/request", fleet.folder + "/fifo")
      try Data(try HostKey().request()).write(to: URL(fileURLWithPath: request))
      #expect(mkfifo(fifo, 0o600) == 0)
      let attack = try Self.attack(
        "resume", Self.port(fleet.address), fleet.folder + "/desk/identity.json", request, fifo)
      // It opens when the attack has its first answer.
      let gate = await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: open(fifo, O_WRONLY)) }.start()
      }
      if isRevoked { #expect(try await fleet.baton("host", "revoke", "desk").status == 0) }
      close(gate)
      let ended = await attack.finished()
      #expect(ended.output == "served\nresumed \(isRevoked ? "refused" : "served")\n", "\(ended)")
    }

    /// Whether the kernel has the sandbox.
    private static func fences() async throws -> Bool {
      let helper = URL(fileURLWithPath: Program.worker.path).deletingLastPathComponent().appending(path: "baton-exec")
      return await !(try Child(path: helper.path, ["--probe"]).finished()).output.hasPrefix("none: the kernel")
    }

    @Test(
      "A job in the sandbox reads nothing of a coordinator, a worker and an operator of its user, wherever it is (T30)",
      .refuses(30), .enabled("the kernel has no sandbox", fences), arguments: ["basic", "none"])
    func sandbox(level: String) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      // This folder is not one of the usual places of a coordinator's data.
      try await fleet.startCoordinator(servesOthers: true)
      let configuration = ["XDG_CONFIG_HOME": fleet.folder + "/config"]
      let created = try await fleet.baton("credential", "create", "ana", "--scope", "read")
      try fleet.write(created.output, to: "pasted")
      chmod(fleet.folder + "/pasted", 0o600)
      let pin = try #require(try await fleet.baton("fleet").output.firstMatch(of: /sha256:[0-9a-f]{64}/)?.0)
      let login = try await Child(
        .baton, ["login", fleet.operators, "--pin", String(pin), "--token-file", fleet.folder + "/pasted"],
        environment: fleet.environment.merging(configuration) { $1 }
      ).finished()
      #expect(login.status == 0, "\(login)")
      try await fleet.join("desk")
      try await fleet.startWorker("desk", adding: configuration.merging(["BATON_SANDBOX_REQUIRE": level]) { $1 })
      let work = fleet.folder + "/work"
      try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
      let files =
        (["authority.pem", "token", "receipt.key"] + (FreshDatabase.isTheStore ? [] : ["baton.sqlite"]))
        .map { fleet.folder + "/coordinator/" + $0 }
        + [fleet.folder + "/desk/identity.json", fleet.folder + "/config/baton/fleets/default.json"]
      for file in files { #expect(FileManager.default.fileExists(atPath: file), "\(file)") }
      try fleet.write(
        """
        identifier: com.example.curious
        kind: continued
        title: Curiosity
        work:
          command: [/bin/sh, -c, 'for f in "$@"; do head -c 1 "$f" >/dev/null 2>&1 && echo "$f"; done; true', sh]
          directory: \(work)
          items: {list: [\(files.map { "'\($0)'" }.joined(separator: ", "))]}
          batchSize: 100
        """, to: "curious.yaml")
      let submitted = try await fleet.baton("submit", "-f", "curious.yaml", "--wait")
      #expect(submitted.status == 0, "\(submitted)")
      let read = try await fleet.baton("logs", "com.example.curious").output.split(separator: "\n").map(String.init)
      #expect(read == (level == "none" ? files : []))
    }

    @Test("A client certificate that the machine's own roots have signed is refused (T9)", .refuses(9))
    func publicRoot() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let now = Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
      let machine = try FleetAuthority(at: now)
      let roots = fleet.folder + "/roots.pem"
      try machine.root.pem.write(toFile: roots, atomically: true, encoding: .utf8)
      try await fleet.startCoordinator(
        servesOthers: true, adding: ["SSL_CERT_FILE": roots, "SSL_CERT_DIR": "/nonexistent"])
      try await fleet.join("desk")
      var identity = try #require(try HostIdentity.read(dataFolder: fleet.folder + "/desk"))
      let endpoint = try HostPort(parsing: fleet.address)
      func connects() async -> Bool {
        do {
          return try await CoordinatorClient.withSecureClient(endpoint, .host(identity)) { _, _ in true }
        } catch {
          return false
        }
      }
      #expect(await connects(), "the control")
      let key = HostKey()
      let certificate = try machine.hostCertificate(
        for: key.key.publicKey, host: HostName("desk"), lasting: .seconds(3600), at: now)
      (identity.key, identity.certificate) = (try key.pem, try certificate.pem)
      let folder = fleet.folder + "/forged"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try identity.write(dataFolder: folder)
      let request = fleet.folder + "/request"
      try Data(try HostKey().request()).write(to: URL(fileURLWithPath: request))
      let attack = await
        (try Self.attack(
          "resume", Self.port(fleet.address), folder + "/identity.json", request, "/dev/null")).finished()
      // TLS refuses it, before the coordinator finds that it has not given the certificate out.
      let refused = "refused TLSV1_ALERT_UNKNOWN_CA\n"
      #expect(attack.output == refused + "not resumed " + refused, "\(attack)")
    }

    private static let frames = [
      "reset", "streams", "continuation", "empty-continuation", "settings", "ping", "priority", "empty-data", "window",
      "unfinished", "table", "altsvc", "origin",
    ]

    /// Makes an attack. Meanwhile an operator must be answered, and the coordinator's memory must not grow.
    private func withstand(
      _ fleet: ProcessFleet, _ what: String, times: Int = 1, _ attack: () throws -> Child
    ) async throws {
      let before = fleet.coordinatorMemory
      for _ in 0..<times {
        let child = try attack()
        repeat {
          let begin = ContinuousClock.now
          let listed = try await fleet.baton("list")
          #expect(listed.status == 0 && ContinuousClock.now - begin < .seconds(5), "\(what): \(listed)")
          #expect(fleet.coordinatorMemory - before < 64 << 20, "\(what)")
        } while child.process.isRunning
        let ended = await child.finished()
        #expect(ended.status == 0 && ended.output.contains(" after "), "\(what): \(ended)")
      }
      #expect(try await fleet.baton("list").status == 0, "\(what)")
      #expect(fleet.coordinatorMemory - before < 64 << 20, "\(what)")
    }

    @Test(
      "A flood of HTTP/2 frames over TLS neither ends the coordinator, nor fills its memory, nor holds up an operator",
      .refuses(37), arguments: [false, true])
    func flood(isOfHost: Bool) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(servesOthers: true)
      let (name, roots) = try await fleet.coordinatorName()
      let file = fleet.folder + "/roots.pem"
      try roots.write(toFile: file, atomically: true, encoding: .utf8)
      try await fleet.join("desk")
      for kind in Self.frames {
        try await withstand(fleet, kind, times: isOfHost ? 1 : 2) {
          guard isOfHost else { return try Self.attack("flood", Self.port(fleet.operators), name, file, kind) }
          return try Self.attack(
            "flood", Self.port(fleet.address), name, file, kind, fleet.folder + "/desk/identity.json")
        }
      }
    }

    @Test("A request of HTTP/1 over TLS that does not end does neither", .refuses(37))
    func floodOfHTTP() async throws {
      let attacked = try await AttackedFleet()
      let fleet = attacked.processes
      defer { fleet.stop() }
      let file = fleet.folder + "/roots.pem"
      try attacked.roots.write(toFile: file, atomically: true, encoding: .utf8)
      for kind in ["headers", "header", "target", "body", "chunks", "pipeline"] {
        try await withstand(fleet, kind) {
          try Self.attack("http", "\(attacked.https.port)", attacked.name, file, kind)
        }
      }
    }
  }
}

extension ProcessFleet {
  /// The resident memory of the coordinator, in bytes.
  fileprivate var coordinatorMemory: Int {
    let pid = coordinator?.pid ?? 0
    let text = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }
}
