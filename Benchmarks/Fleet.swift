import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation
import Synchronization

/// A coordinator and a worker as processes of their own, on a fresh folder.
final class Fleet: Sendable {
  let folder: String
  private let coordinator: Child
  private let worker: Child
  let port: Int

  /// - Parameter environment: added to that of both processes; without it nothing is traced.
  init(slots: Int, environment: [String: String] = ["OTEL_SDK_DISABLED": "true"]) async throws {
    folder = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    coordinator = try Child(["coordinator", folder + "/coordinator"], environment)
    let line = await coordinator.line { $0.hasPrefix("port ") }
    port = Int(line.dropFirst(5)) ?? 0
    worker = try Child(["worker", String(port), folder + "/worker", String(slots)], environment)
  }

  func nextLine(_ condition: (String) -> Bool) async -> String { await worker.line(condition) }

  func stop() {
    worker.stop()
    coordinator.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Runs `body` with a client, once the worker is attached and the definitions of the benchmarks are applied.
  func withClient<Result: Sendable>(
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws
    -> Result
  {
    let endpoint = HostPort(host: "127.0.0.1", port: port)
    return try await CoordinatorClient.withClient(endpoint, tokenFile: nil) { client, metadata in
      let api = OperatorClient(client: client, metadata: metadata, endpoint: endpoint)
      _ = try await api.apply(
        ["com.example.bench.noop.*", "com.example.bench.start", "com.example.bench.checkpoint.*"].map {
          var definition = Definition(pattern: IdentifierPattern($0)!, kind: .processing)
          definition.pendingLimit = 2_000_000
          return definition
        })
      while try await api.hostReports().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
      return try await body(api)
    }
  }
}

/// A process of this program in another role, and the lines it prints.
final class Child: Sendable {
  // Only started here and stopped once; Process says nothing about threads.
  private nonisolated(unsafe) let process = Process()
  private let lines = Mailbox<String>(capacity: 1 << 20)
  private let waiting = Mutex<[String]>([])

  init(_ arguments: [String], _ environment: [String: String] = [:]) throws {
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let (file, lines) = (fdopen(pipe.fileHandleForReading.fileDescriptor, "r"), lines)
    nonisolated(unsafe) let stream = file
    Thread {
      while let line = Self.readLine(stream) { lines.send(line) }
      lines.close()
      withExtendedLifetime(pipe) {}
    }.start()
  }

  private static func readLine(_ stream: UnsafeMutablePointer<FILE>?) -> String? {
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    guard let stream, getline(&line, &capacity, stream) > 0, let line else { return nil }
    return String(cString: line).trimmingCharacters(in: .newlines)
  }

  /// The next line that is as `condition` says; empty once the process has ended.
  func line(_ condition: (String) -> Bool) async -> String {
    while true {
      let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      if let next {
        if condition(next) { return next }
        continue
      }
      guard let more = await lines.receive() else { return "" }
      waiting.withLock { $0 = more }
    }
  }

  var pid: Int32 { process.processIdentifier }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  /// For one that has nothing to close: SIGTERM is blocked where a thread of Swift's started it.
  func end() {
    kill(pid, SIGKILL)
    process.waitUntilExit()
  }
}
