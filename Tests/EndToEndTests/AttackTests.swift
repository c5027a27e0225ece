import BatonIdentity
import BatonModel
import BatonWire
import ContractRows
import Foundation
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

    @Test(
      "A flood of HTTP/2 frames over TLS neither ends the coordinator nor fills its memory (T37)", .refuses(37),
      arguments: [
        "reset", "streams", "continuation", "empty-continuation", "settings", "ping", "priority", "empty-data",
        "window", "unfinished", "table",
      ])
    func flood(kind: String) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(servesOthers: true)
      let (name, roots) = try await fleet.coordinatorName()
      let file = fleet.folder + "/roots.pem"
      try roots.write(toFile: file, atomically: true, encoding: .utf8)
      let before = fleet.coordinatorMemory
      for _ in 0..<2 {
        let attack = await (try Self.attack("flood", Self.port(fleet.operators), name, file, kind)).finished()
        #expect(attack.status == 0 && attack.output.contains(" after "), "\(attack)")
      }
      #expect(try await fleet.baton("list").status == 0)
      #expect(fleet.coordinatorMemory - before < 64 << 20, "\(kind)")
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
