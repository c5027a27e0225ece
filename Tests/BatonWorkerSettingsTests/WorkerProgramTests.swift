import BatonHost
import BatonModel
import BatonProcess
import BatonTransfers
import BatonWorker
import Foundation
import Logging
import Testing

@testable import BatonWorkerProgram

@Suite("The settings of a worker's program")
struct WorkerProgramTests {
  /// The settings with this worker.yaml.
  private func program(_ yaml: String, _ arguments: [String] = []) async throws -> WorkerProgram {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("worker-\(UUID()).yaml").path
    try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    let environment = ["XDG_STATE_HOME": "/data", "BATON_CONFIG": file]
    return try await WorkerProgram(arguments: arguments, environment: environment)
  }

  @Test(
    "A program with settings from code is a whole worker: it has an owner's desk, a supervisor's rules and transfers")
  func inCode() throws {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: "data", slots: 1)
    let secrets = [SecretPermission(files: try #require(SecretPattern("db/*")), identifiers: [])]
    configuration.sandbox.secrets = secrets
    configuration.sandbox.secretsFolder = "/srv/secrets"
    let program = WorkerProgram(configuration)
    #expect(program.configuration.answersOwner && program.configuration.ownsProcess)
    #expect(program.configuration.endsProcessOnOverrun)
    let transfers = try #require(program.transfers)
    #expect(transfers.folder == FileManager.default.currentDirectoryPath + "/data/transfers")
    #expect(transfers.secretPermissions == secrets && transfers.secrets.path == "/srv/secrets")
    #expect(program.http == nil && program.https == nil && program.logLevel == .info)
  }

  @Test("A file has every setting, and an option goes before it")
  func everySetting() async throws {
    let yaml = """
      name: desk
      http: 127.0.0.1:7430
      https: 0.0.0.0:7431
      logLevel: warning
      labels: {zone: garage}
      hours: ["22:00-07:00"]
      cpuLimit: 150%
      thermal: {seriousMargin: 15}
      sandbox: {require: strict}
      ownerSocket: /run/desk.sock
      tracing: {batchInterval: 7}
      transfers: {quota: 8GiB}
      """
    let program = try await program(yaml, ["--log-level", "error", "--slots", "3"])
    #expect(program.configuration.name == "desk" && program.configuration.slots == 3)
    #expect(program.http == "127.0.0.1:7430" && program.https == "0.0.0.0:7431" && program.logLevel == .error)
    #expect(program.configuration.conditions.labels == ["zone": "garage"])
    #expect(program.configuration.hours.spans == (try LendingHours(["22:00-07:00"])).spans)
    #expect(program.configuration.cpuLimit == CPUQuota(percent: 150))
    #expect(program.configuration.conditions.thermal.seriousMargin == 15)
    #expect(program.configuration.sandbox.required == .strict)
    #expect(program.configuration.ownerSocket == "/run/desk.sock" && program.configuration.batchSampling.interval == 7)
    #expect(program.transfers?.quota == 8 << 30 && program.transfers?.folder == "/data/baton/worker/desk/transfers")
    #expect(try await self.program("name: desk\ntransfers: {enabled: false}").transfers == nil)
  }

  @Test("Everything that is wrong is told at once, and an unknown option too")
  func mistakes() async throws {
    let wrong = try #require(
      await #expect(throws: WorkerError.self) { _ = try await program("slots: 0\nhttp: nowhere\nlogLevel: loud") })
    #expect(wrong.message.hasPrefix("3 settings are wrong:"))
    for part in [":1:8: error: 'slots'", ":2:7: error: 'http'", ":3:11: error: 'logLevel'"] {
      #expect(wrong.message.contains(part), "\(wrong)")
    }
    let option = await #expect(throws: WorkerError.self) { _ = try await program("", ["--slot", "3"]) }
    #expect(option?.message.contains("--slot") == true)
    let level = await #expect(throws: WorkerError.self) { _ = try await program("", ["--log-level", "loud"]) }
    #expect(level?.message.hasPrefix("'loud' is not a log level; use one of: trace, debug") == true)
  }
}
