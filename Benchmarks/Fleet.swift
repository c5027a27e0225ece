import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation
import GRDBSQLite

/// One or more coordinators and their workers, each in a process of its own.
final class Fleet: Sendable {
  /// The beginning of every identifier in the benchmarks.
  static let prefix = "com.example.bench."
  /// The environment of processes that do not trace.
  static let untraced = ["OTEL_SDK_DISABLED": "true"]

  let coordinators: [Child]
  /// The port of each coordinator.
  let ports: [Int]
  let workers: [Child]
  private let folder: String
  /// The beginning of the names of the workers. A store that several fleets use one after the other keeps the names of
  /// all of them, and a name belongs to the worker that used it first.
  private let name = "bench-\(UUID().uuidString.prefix(8).lowercased())"
  /// The first coordinator's data folder.
  private let data: String
  private let keepsData: Bool

  var coordinator: Child { coordinators[0] }
  var port: Int { ports[0] }

  /// - Parameters:
  ///   - slots: the number of slots of each worker.
  ///   - workers: the number of workers. They are shared out among the coordinators in turn.
  ///   - canMove: whether each worker knows all coordinators, and chooses one by itself.
  ///   - store: the database that the coordinators share; `nil` for the file in the only coordinator's data folder.
  ///   - data: the coordinator's data folder, which is kept; `nil` for a temporary folder, which is removed.
  ///   - environment: variables to add to the environment of every process.
  init(
    slots: Int, workers: Int = 1, canMove: Bool = false, coordinators: Int = 1, store: BenchmarkDatabase? = nil,
    data: String? = nil, environment: [String: String] = Fleet.untraced
  ) async throws {
    folder = Files.temporary()
    self.data = data ?? folder + "/coordinator-0"
    keepsData = data != nil
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var settings = environment
    settings[BenchmarkDatabase.variable] = store?.address
    var (started, ports): ([Child], [Int]) = ([], [])
    for index in 0..<coordinators {
      let own = index == 0 ? self.data : "\(folder)/coordinator-\(index)"
      if index > 0 { try Self.share(self.data, with: own) }
      let coordinator = try Child(["coordinator", own], settings)
      started.append(coordinator)
      ports.append(Int(await coordinator.line { $0.hasPrefix("port ") }.dropFirst(5)) ?? 0)
    }
    (self.coordinators, self.ports) = (started, ports)
    if TLS.isOn {
      for index in 0..<workers {
        try await TLS.join("\(name)-\(index)", data: "\(folder)/worker-\(index)", port: ports[0])
      }
    }
    self.workers = try (0..<workers).map { [folder, ports, name] index in
      let known = canMove ? ports : [ports[index % ports.count]]
      let addresses = known.map { "127.0.0.1:\($0)" }.joined(separator: ",")
      return try Child(
        ["worker", addresses, "\(folder)/worker-\(index)", "\(slots)", "\(name)-\(index)"],
        environment)
    }
  }

  /// Copies the files that belong to the whole fleet from one coordinator's data folder to a new one.
  private static func share(_ data: String, with own: String) throws {
    try FileManager.default.createDirectory(
      atPath: own, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for name in ["authority.pem", "receipt.key"] {
      try FileManager.default.copyItem(atPath: "\(data)/\(name)", toPath: "\(own)/\(name)")
    }
  }

  /// The first worker's next line that fulfils `condition`.
  func nextLine(_ condition: (String) -> Bool) async -> String { await workers[0].line(condition) }

  /// Returns when the tracing backend has confirmed all spans in the coordinator's store.
  func untilSpansAreSent() async throws {
    let path = data + "/baton.sqlite"
    while try Self.hasUnsentSpan(path) { try await Task.sleep(for: .milliseconds(20)) }
  }

  private static func hasUnsentSpan(_ path: String) throws -> Bool {
    var (handle, statement): (OpaquePointer?, OpaquePointer?)
    defer {
      sqlite3_finalize(statement)
      sqlite3_close_v2(handle)
    }
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
      sqlite3_prepare_v2(handle, "SELECT EXISTS (SELECT 1 FROM unsent_span)", -1, &statement, nil) == SQLITE_OK,
      sqlite3_step(statement) == SQLITE_ROW
    else { throw CocoaError(.fileReadUnknown) }
    return sqlite3_column_int(statement, 0) != 0
  }

  func stop() {
    for worker in workers { worker.stop() }
    for coordinator in coordinators { coordinator.stop() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Applies the definitions, waits until all workers are attached, and runs `body` with a client.
  func withClient<Result: Sendable>(
    _ definitions: [Definition] = [], _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let count = workers.count
    return try await Self.withClient(port: port) { api in
      _ = try await api.apply(["noop.*", "start", "checkpoint.*"].map(Self.definition))
      // One call has at most 1,000 definitions.
      if !definitions.isEmpty { _ = try await api.apply(definitions) }
      while try await api.hostReports().count(where: { $0.state == .ready }) < count {
        try await Task.sleep(for: .milliseconds(20))
      }
      return try await body(api)
    }
  }

  static func withClient<Result: Sendable>(
    port: Int, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    if TLS.isOn { return try await TLS.withClient(port: port, body) }
    return try await withOwnClient(port: port, body)
  }

  /// Runs `body` with the Unix socket of the coordinator's own user.
  static func withOwnClient<Result: Sendable>(
    port: Int, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let endpoint = HostPort(host: "127.0.0.1", port: port)
    return try await CoordinatorClient.withLoopClient(endpoint, tokenFile: nil) { client, metadata in
      try await body(OperatorClient(client: client, metadata: metadata, endpoint: endpoint))
    }
  }

  // MARK: What runs on it

  /// - Parameter name: the rest of the pattern after `prefix`.
  static func definition(_ name: String) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(prefix + name)!, kind: .processing)
    definition.pendingLimit = 2_000_000
    return definition
  }

  static func order(_ name: String, id: String, payload: [UInt8]? = nil) -> SubmissionOrder {
    SubmissionOrder(id: id, identifier: JobIdentifier(prefix + name)!, payload: payload)
  }

  static func submit(_ orders: [SubmissionOrder], to api: any OperatorAPI) async throws {
    for result in try await api.submit(orders, by: "bench") {
      guard case .accepted = result else { fatalError("a submission of the benchmark was refused: \(result)") }
    }
  }
}

/// Paths of files and programs.
enum Files {
  static func temporary() -> String { NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString)" }

  /// The path of a program in the same build folder as this one.
  static func program(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent(name).path
  }
}
