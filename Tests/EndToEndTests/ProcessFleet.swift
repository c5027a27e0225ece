import Foundation
import FreshDatabases
import Synchronization

/// A coordinator and workers as processes, in their own folder and on free ports of loopback.
final class ProcessFleet: Sendable {
  let folder: String
  let pipe: EventPipe
  private let state = Mutex(State())

  private struct State {
    /// The address of the fleet's database, once a coordinator was started; `nil` for a store in the data folder.
    var database: String?
    var coordinator: Child?
    var port = 0
    /// The port for operators and for hosts that join; nil if there is none.
    var operators: Int?
    /// The port for HTTP; nil if there is none.
    var http: Int?
    var workers: [String: Child] = [:]
  }

  /// The command before each program, which may start it as another user.
  private let prefix: [String]

  /// - Parameter isOrdinary: whether the processes run as an ordinary user even if root runs the tests.
  init(isOrdinary: Bool = false) throws {
    prefix =
      isOrdinary && geteuid() == 0
      ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    folder = NSTemporaryDirectory() + "baton-e2e-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder + "/run", withIntermediateDirectories: true)
    pipe = EventPipe(folder + "/events")
    guard !prefix.isEmpty else { return }
    for name in ["", "/run", "/events"] { chown(folder + name, 65534, 65534) }
  }

  /// `false` if root runs the tests and cannot start the programs as an ordinary user.
  static let canBeOrdinary: Bool = {
    if geteuid() != 0 { return true }
    let program = Program.baton.path
    return system("setpriv --reuid=65534 --regid=65534 --clear-groups -- test -x '\(program)' >/dev/null 2>&1") == 0
  }()

  private func child(
    _ program: Program, _ arguments: [String], currentDirectory: String? = nil, isDaemon: Bool = false,
    adding more: [String: String] = [:]
  ) throws -> Child {
    let line = prefix + [program.path] + arguments
    return try Child(
      path: line[0], Array(line.dropFirst()), environment: environment.merging(more) { $1 },
      currentDirectory: currentDirectory, isDaemon: isDaemon)
  }

  /// Whether the coordinators of the fleet keep their store in PostgreSQL. An ordinary user cannot enter the folder of
  /// the server's socket.
  static func usesPostgres(isOrdinary: Bool) -> Bool { FreshDatabase.isTheStore && !(isOrdinary && geteuid() == 0) }

  /// The variable that names the store of the fleet's coordinators.
  private func store() throws -> [String: String] {
    guard Self.usesPostgres(isOrdinary: !prefix.isEmpty) else { return [:] }
    let known = state.withLock { $0.database }
    let database = try known ?? FreshDatabase.make()
    state.withLock { $0.database = database }
    return ["BATON_STORE": database]
  }

  var address: String { "127.0.0.1:\(state.withLock { $0.port })" }
  /// Where operators are served and hosts join. Empty if nothing is served there.
  var operators: String { state.withLock { $0.operators }.map { "127.0.0.1:\($0)" } ?? "" }
  /// The port for HTTP; 0 if there is none.
  var http: Int { state.withLock { $0.http ?? 0 } }
  var coordinator: Child? { state.withLock { $0.coordinator } }
  func worker(_ name: String) -> Child? { state.withLock { $0.workers[name] } }

  /// Starts a coordinator on the fleet's data, at the port that it had before.
  /// - Parameters:
  ///   - http: the address for HTTP, or `off`.
  ///   - descriptors: the most file descriptors that it may have open; `nil` for as many as this process.
  ///   - more: further variables of its environment.
  ///   - servesOthers: whether operators with a credential are served, and hosts may join.
  func startCoordinator(
    lease: String = "1s", http: String = "off", descriptors: Int? = nil, servesOthers: Bool = false,
    adding more: [String: String] = [:]
  ) async throws {
    var arguments = [
      "coordinator", "--data", folder + "/coordinator", "--listen", address, "--http", http, "--lease", lease,
    ]
    let more = try store().merging(more) { $1 }
    if servesOthers { arguments += ["--operators", operators.isEmpty ? "127.0.0.1:0" : operators] }
    guard let descriptors else {
      return try await start(try child(.baton, arguments, isDaemon: true, adding: more))
    }
    try await start(
      try Child(
        path: "/bin/bash",
        ["-c", #"ulimit -n "$1"; shift; exec "$@""#, "-", "\(descriptors)", Program.baton.path]
          + arguments, environment: environment.merging(more) { $1 }, isDaemon: true))
  }

  /// Starts `baton up` in the place of a coordinator and a worker. Its store is always in its data folder.
  func startUp() async throws {
    try await start(
      try Child(
        .baton, ["up", "--data", folder + "/up", "--listen", address, "--http", "off"], environment: environment,
        isDaemon: true))
  }

  private func start(_ child: Child) async throws {
    let line = await child.errorLine(containing: "listens on")
    let port = line.firstMatch(of: /127\.0\.0\.1:(\d+) \(gRPC\)/).flatMap { Int($0.1) }
    let operators = line.firstMatch(of: /127\.0\.0\.1:(\d+) \(operators\)/).flatMap { Int($0.1) }
    state.withLock { state in
      state.coordinator = child
      state.port = port ?? 0
      state.operators = operators
      state.http = line.firstMatch(of: /127\.0\.0\.1:(\d+) \(HTTP\)/).flatMap { Int($0.1) }
    }
  }

  /// - Parameter program: a program with the options of `baton-worker`.
  func startWorker(
    _ name: String, program: Program = .worker, slots: Int = 2, adding more: [String: String] = [:]
  ) async throws {
    let child = try child(
      program, ["--coordinator", address, "--name", name, "--data", "\(folder)/\(name)", "--slots", String(slots)],
      isDaemon: true, adding: more)
    _ = await child.errorLine(containing: "connected to the coordinator")
    state.withLock { $0.workers[name] = child }
  }

  /// Lets a host join the fleet. Its worker then speaks TLS.
  func join(_ name: String) async throws {
    let invited = try await baton("host", "invite", name, "--address", operators)
    // As a person pastes it: the token goes to standard input.
    let line = invited.output.replacing("baton-worker join", with: "\(Program.worker.path) join")
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let shell = prefix + ["/bin/sh", "-c", "\(line) --data '\(folder)/\(name)'"]
    let joined = await (try Child(path: shell[0], Array(shell.dropFirst()), environment: environment)).finished()
    guard joined.status == 0 else { throw CocoaError(.featureUnsupported, userInfo: ["errors": joined.errors]) }
  }

  /// The name in the coordinator's certificate, and the roots that it comes from (PEM).
  func coordinatorName() async throws -> (name: String, roots: String) {
    let fleet = try await baton("fleet", "show", "-o", "json").output
    let id = fleet.firstMatch(of: /"fleet"\s*:\s*"([0-9a-f]+)"/).map { String($0.1) } ?? ""
    return ("\(id).coordinator.baton", try await baton("fleet", "roots").output)
  }

  func startHandlerWorker(_ name: String) throws {
    let child = try Child(
      .handlerWorker, [address, name, "\(folder)/\(name)", pipe.path], environment: environment)
    state.withLock { $0.workers[name] = child }
  }

  /// The environment of all processes. With it, they find the token that the fleet's coordinator publishes. The host
  /// counts as idle, because the machine that runs the tests may be in use.
  var environment: [String: String] {
    [
      "XDG_RUNTIME_DIR": folder + "/run", "XDG_STATE_HOME": folder + "/state", "BATON_COORDINATOR": address,
      // CI runs the tests as root. Some commands write beside the data folders, which the sandbox forbids, and
      // `PrivacyTests` show what the processes keep to themselves without it. The demo runs in the sandbox.
      "BATON_PROBES": "none", "BATON_ALLOW_ROOT": "true", "BATON_SANDBOX_REQUIRE": "none",
    ]
  }

  func baton(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await command(arguments)
  }

  /// - Parameter more: further variables of its environment.
  func command(
    _ arguments: [String], adding more: [String: String] = [:]
  ) async throws -> (status: Int32, output: String, errors: String) {
    try await child(.baton, arguments, currentDirectory: folder, adding: more).finished()
  }

  /// Sends a request over HTTP as it is, and returns the whole answer. It uses bash, which can open TCP connections.
  func http(_ port: Int, _ request: String) async throws -> String {
    try write(request.replacingOccurrences(of: "\n", with: "\r\n"), to: "request")
    let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); cat '\(folder)/request' >&3; cat <&3"
    return try await Child(path: "/bin/bash", ["-c", script]).finished().output
  }

  /// Sends a request over HTTP through a Unix socket as it is, and returns the whole answer.
  static func http(_ path: String, _ request: String) async -> String {
    await withCheckedContinuation { continuation in
      Thread {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        _ = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
        let bytes = Array(request.replacingOccurrences(of: "\n", with: "\r\n").utf8)
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var (answer, part) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while case let count = recv(descriptor, &part, part.count, 0), count > 0 { answer += part[..<count] }
        continuation.resume(returning: String(decoding: answer, as: UTF8.self))
      }.start()
    }
  }

  /// Opens a connection to a port of loopback and sends nothing; -1 if the port refuses it.
  static func connection(to port: Int) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return result == 0 ? descriptor : -1
  }

  /// A port of loopback on which no process listens now.
  static func freePort() -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bound in
        guard bind(descriptor, bound, length) == 0, getsockname(descriptor, bound, &length) == 0 else { return 0 }
        return Int(pointer.pointee.sin_port.byteSwapped)
      }
    }
  }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
  }

  /// The last launches of a request, from `show -o json`.
  func show(_ identifier: String) async throws -> Shown {
    let answer = try await baton("show", identifier, "-o", "json")
    return try JSONDecoder().decode(Shown.self, from: Data(answer.output.utf8))
  }

  func stop() {
    let (coordinator, workers) = state.withLock { ($0.coordinator, Array($0.workers.values)) }
    for worker in workers { worker.stop() }
    coordinator?.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// The part of `show -o json` that the tests use.
struct Shown: Decodable {
  struct Launch: Decodable, Equatable {
    var number: Int
    var host: String
    var outcome: String?
    var reason: String?
    var batches: Int
    var firstBatch: Int
  }

  var state: String
  var launches: Int
  var completedUnits: Int
  var eligibleAt: String?
  var launchHistory: [Launch]
}
