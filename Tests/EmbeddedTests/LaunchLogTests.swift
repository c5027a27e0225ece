import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import ContractRows
import Foundation
import Logging
import Synchronization
import Testing

/// What an operator finds in the logs of coordinator and worker when searching for a trace id.
@Suite("Log lines about launches", .timeLimit(.minutes(10)))
struct LaunchLogTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  @Test(
    "Coordinator and worker log the start, the expiry and the end of each launch at info, with the launch's ids",
    .contract(44.2))
  func lines() async throws {
    let (coordinators, workers) = (LaunchLines(), LaunchLines())
    let fleet = try Fleet(logger: coordinators.logger)
    let handler: Handler = { task in
      if task.launch == 1 { try await Self.waitForExpiry() }
    }
    let hosts = ["one", "two"].map {
      fleet.worker($0, folder: folder, [("com.example.a", handler)], logger: workers.logger)
    }
    let ended = Mutex<RequestDetails?>(nil)
    try await fleet.run(hosts) {
      try await begin(fleet)
      let running = try await fleet.reached("com.example.a") { $0.record.host != nil }
      try await fleet.coordinator.setDraining(try #require(running.record.host), true)
      let details = try await fleet.ended("com.example.a")
      ended.withLock { $0 = details }
    }
    // The worker logs the deadline in seconds after the expiry. A processing job has 30 s to close.
    let deadlines = workers.all.compactMap { $0.metadata["baton.expiry.deadline"].flatMap(Double.init) }
    #expect(deadlines.count == 1 && deadlines.allSatisfy { (0...30).contains($0) }, "\(deadlines)")
    // Workers and coordinator have ended, so every line is written.
    let details = try #require(ended.withLock { $0 })
    let (first, second) = (try Self.ids(of: 1, details), try Self.ids(of: 2, details))
    for log in [coordinators, workers] {
      // The launch may end before the coordinator has stored the expiry, so the lines are compared in sorted order.
      #expect(log.texts(with: first) == ["a launch began", "a launch ended", "a launch is asked to stop"])
      #expect(log.texts(with: second) == ["a launch began", "a launch ended"])
      #expect(log.all.count == 5 && log.all.allSatisfy { $0.level == .info && $0.metadata["baton.shard"] == nil })
      #expect(log.all.compactMap { $0.metadata["baton.expiry.reason"] } == ["draining", "draining"])
      #expect(log.all.compactMap { $0.metadata["baton.launch.outcome"] } == ["expired", "finished"])
    }
  }

  @Test("The end of a launch whose worker is gone is logged with the launch's ids", .contract(44.2))
  func lost() async throws {
    let log = LaunchLines()
    let fleet = try Fleet(logger: log.logger)
    let worker = fleet.worker("one", folder: folder, [("com.example.a", { _ in try await Self.waitForExpiry() })])
    let lost = Mutex<RequestDetails?>(nil)
    try await fleet.run([worker]) {
      try await begin(fleet)
      _ = try await fleet.reached("com.example.a") { $0.launches.count == 1 }
      let host = try #require(try await fleet.coordinator.store.fleet().hosts.first)
      let process = WorkerProcess(host: host.name, incarnation: try #require(host.incarnation))
      let secret = try SecretFile.read(folder + "/one/secret")
      try await fleet.coordinator.processDied(process, secret: secret, isBlameless: true)
      let details = try await fleet.reached("com.example.a") { $0.launches.first?.endedAt != nil }
      lost.withLock { $0 = details }
    }
    let ids = try Self.ids(of: 1, try #require(lost.withLock { $0 }))
    #expect(log.texts(with: ids) == ["a launch began", "a launch ended"])
    #expect(log.all.first { $0.text == "a launch ended" }?.metadata["baton.launch.outcome"] == "lost")
  }

  @Test("The lines about a launch of a shard have the number of the shard, and other lines have none")
  func shards() async throws {
    let (coordinators, workers) = (LaunchLines(), LaunchLines())
    let fleet = try Fleet(logger: coordinators.logger)
    let worker = fleet.worker("one", folder: folder, [("com.example.a", { _ in })], logger: workers.logger)
    try await fleet.run([worker]) {
      var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: .processing)
      definition.spread = Spread(lanes: 1, shards: 3)
      _ = try await fleet.coordinator.apply([definition])
      try await fleet.submit("com.example.a")
      _ = try await fleet.ended("com.example.a")
    }
    for log in [coordinators, workers] {
      for shard in 0..<3 {
        #expect(log.texts(with: ["baton.shard": "\(shard)"]) == ["a launch began", "a launch ended"])
      }
      #expect(log.all.count == 6)
    }
  }

  private func begin(_ fleet: Fleet) async throws {
    _ = try await fleet.coordinator.apply([
      Definition(pattern: IdentifierPattern("com.example.a")!, kind: .processing)
    ])
    try await fleet.submit("com.example.a")
  }

  /// The ids that every line about the launch must have, according to the store.
  private static func ids(of number: Int, _ details: RequestDetails) throws -> [String: String] {
    let launch = try #require(details.launches.first { $0.launch.number == number })
    let span = TraceContext(traceID: details.record.trace.traceID, spanID: launch.spanID, isSampled: true)
    return [
      "baton.identifier": "com.example.a", "baton.request": "1", "baton.launch.number": "\(number)",
      "trace_id": "\(span.traceID)", "span_id": "\(span.spanID)",
    ]
  }

  private static func waitForExpiry() async throws {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
    try Task.checkCancellation()
  }
}

/// The lines of a log that are about a launch.
final class LaunchLines: Sendable {
  struct Line: Sendable {
    var level: Logger.Level
    var text: String
    var metadata: [String: String]
  }

  private let lines = Mutex<[Line]>([])
  var all: [Line] { lines.withLock { $0 } }

  /// The texts of the lines that have all these ids, sorted.
  func texts(with ids: [String: String]) -> [String] {
    all.filter { line in ids.allSatisfy { line.metadata[$0.key] == $0.value } }.map(\.text).sorted()
  }

  /// A logger that keeps the entries of the level info and above, as a daemon with `logLevel: info` writes them.
  var logger: Logger {
    var logger = Logger(label: "test") { [self] _ in Collector(lines: self) }
    logger.logLevel = .info
    return logger
  }

  private struct Collector: LogHandler {
    let lines: LaunchLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      guard event.metadata?[Names.LogKey.launch] != nil else { return }
      let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
      lines.lines.withLock { $0.append(Line(level: event.level, text: "\(event.message)", metadata: metadata)) }
    }
  }
}
