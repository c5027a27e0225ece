import BatonCoordinator
import BatonModel
import BatonProcess
import BatonStore
import BatonTelemetry
import BatonWire
import BatonWorker
import ContractRows
import Foundation
import Logging
import Synchronization
import Testing

/// A secret from the host's folder to the command, and everything that a person or a file of Baton could show of it.
@Suite("Secrets of a job", .timeLimit(.minutes(10)))
struct SecretTests {
  static let password = "correct horse battery staple"
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  private func definition(_ identifier: String, _ script: String, _ form: SecretForm? = nil) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(identifier)!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.retry = RetryRule(limit: 0)
    definition.work = Work(
      command: ["/bin/sh", "-c", script], secrets: ["DB_PASSWORD": Secret(file: "db/password", form: form)])
    return definition
  }

  /// Makes the folder of secrets, and permits the secret to the identifiers.
  private func allow(_ identifiers: String...) throws -> (inout WorkerConfiguration) -> Void {
    let secrets = folder + "/secrets"
    try FileManager.default.createDirectory(
      atPath: secrets + "/db", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let file = URL(fileURLWithPath: secrets + "/db/password")
    try Data((Self.password + "\n").utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file.path)
    return { configuration in
      configuration.sandbox.secrets = [
        SecretPermission(
          files: SecretPattern("db/*")!, identifiers: identifiers.compactMap { IdentifierPattern($0) })
      ]
      configuration.sandbox.secretFolder = SecretFolder(path: secrets)
    }
  }

  @Test(
    "the value is in the command only: not in the output, the reason, the log, or a file of the coordinator",
    .refuses(34),
    arguments: [nil, SecretForm.environment])
  func stays(form: SecretForm?) async throws {
    let log = AllLines()
    let store = try SQLiteStore.open(folder: folder + "/store")
    let coordinator = Coordinator(store: store, settings: CoordinatorSettings(), logger: log.logger)
    let fleet = Fleet(coordinator: coordinator)
    let value = form == nil ? "$(cat /dev/fd/$DB_PASSWORD_FD)" : "$DB_PASSWORD"
    let job = definition(
      "com.example.db.dump",
      #"v=\#(value); test $${#v} = 28 || exit 9; echo "1 $v"; echo "{\"subtitle\":\"$v\"}" >&3; read x <&4; echo "2 $v"; exit 3"#,
      form)
    let worker = fleet.worker(
      "one", folder: folder, logger: log.logger, configured: try allow("com.example.db.*"))
    let shown = Mutex("")
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.submit("com.example.db.dump")
      let details = try await fleet.ended("com.example.db.dump")
      let reason = "\(details.launches)"
      #expect(reason.contains("ended with status 3") && reason.contains("2 •••"), "\(reason)")
      let output = String(decoding: try await store.output(of: details.launches[0].launch), as: UTF8.self)
      #expect(output == "1 •••\n2 •••\n")
      shown.withLock { $0 = String(reflecting: details) + "\(details)" }
    }
    #expect(!shown.withLock { $0 }.contains(Self.password))
    #expect(log.text.contains("a launch ended") && !log.text.contains(Self.password))
    for file in try FileManager.default.subpathsOfDirectory(atPath: folder) where file != "secrets/db/password" {
      let content = FileManager.default.contents(atPath: folder + "/" + file) ?? Data()
      #expect(content.range(of: Data(Self.password.utf8)) == nil, "\(file)")
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("a host whose owner does not permit the secret is passed over, with the reason; nothing runs without it")
  func notPermitted() async throws {
    let fleet = try Fleet()
    let job = definition("com.example.web.dump", "touch \(folder)/ran")
    let worker = fleet.worker("one", folder: folder, configured: try allow("com.example.db.*"))
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.submit("com.example.web.dump")
      try await fleet.attached(1)
      let explained = try await fleet.coordinator.explain(JobIdentifier("com.example.web.dump")!, number: nil)
      let line = try #require(explained.lines.first { $0.code == "notPermittedOnHost" })
      #expect(line.text.contains("does not permit the secret db/password"))
      #expect(try await fleet.coordinator.request(JobIdentifier("com.example.web.dump")!, number: nil).launches == 0)
    }
    #expect(!FileManager.default.fileExists(atPath: folder + "/ran"))
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// Every line of a log, with its metadata, at every level.
private final class AllLines: Sendable {
  private let lines = Mutex("")
  var text: String { lines.withLock { $0 } }

  var logger: Logger {
    var logger = Logger(label: "test") { [self] _ in Collector(lines: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Collector: LogHandler {
    let lines: AllLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      let line = "\(event.message) \(event.metadata ?? [:])\n"
      lines.lines.withLock { $0 += line }
    }
  }
}
