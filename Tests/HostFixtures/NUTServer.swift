import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A real `upsd` with the dummy driver, in a folder of its own and on a free port of the loopback interface: what a
/// script writes into a file is what `upsc` then says of the UPS `demo`.
///
/// The driver reads its file again when it has changed (`mode = dummy-loop`). The programs are started directly, not by
/// Debian's script at `/usr/sbin/upsd`, which does nothing unless `/etc/nut/nut.conf` allows it; and as root, because
/// the user `nut` could not read the folder. Both are ended by `timeout` should this process die.
package final class NUTServer: @unchecked Sendable {
  private static let programs = ["/lib/nut", "/usr/lib/nut", "/usr/libexec/nut"]

  private static func find(_ name: String, in folders: [String]) -> String? {
    folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  private static let driver = find("dummy-ups", in: programs)
  private static let server = find("upsd", in: programs)

  /// False where it is not installed (Debian: `nut-server`, `nut-client`), or where this is not root.
  package static var isInstalled: Bool {
    driver != nil && server != nil && find("upsc", in: ["/usr/bin", "/bin", "/usr/local/bin"]) != nil && getuid() == 0
  }

  package let port: Int
  package var address: String { "127.0.0.1:\(port)" }
  package var name: String { "demo@\(address)" }

  private let folder: MachineFolder
  // Written by the test's own task only.
  private var running: [String: Process] = [:]

  /// Starts both programs, hands them to `body` when `upsc` shows the UPS, and ends them afterwards.
  package static func with(_ body: (NUTServer) async throws -> Void) async throws {
    try await MachineFolder.with { folder in
      let server = try NUTServer(folder)
      defer { for program in Array(server.running.keys) { server.kill(program) } }
      try server.start()
      try await body(server)
    }
  }

  private init(_ folder: MachineFolder) throws {
    self.folder = folder
    port = try Self.freePort()
    try folder.write(
      "[demo]\n  driver = dummy-ups\n  port = demo.dev\n  mode = dummy-loop\n  pollinterval = 1", to: "ups.conf")
    try folder.write("LISTEN 127.0.0.1 \(port)\nMAXAGE 5", to: "upsd.conf")
    try folder.write("", to: "upsd.users")
    try folder.write(MachineFolder.folder, to: "state")
    try set("OL", charge: 100)
  }

  /// What the UPS says from the driver's next look at its file on, within about a second.
  package func set(_ status: String, charge: Int) throws {
    // In one step: the driver must not read half of it.
    try folder.write("ups.status: \(status)\nbattery.charge: \(charge)", to: "next.dev")
    guard rename(folder.path + "/next.dev", folder.path + "/demo.dev") == 0 else { throw Failure("cannot rename") }
  }

  package func startDriver() throws { try launch("driver", Self.driver, ["-a", "demo", "-F", "-u", "root"]) }
  package func startServer() throws { try launch("server", Self.server, ["-F", "-u", "root"]) }
  package func killDriver() { kill("driver") }
  package func killServer() { kill("server") }

  private func start() throws {
    try startDriver()
    try startServer()
  }

  private func launch(_ program: String, _ path: String?, _ arguments: [String]) throws {
    guard let path else { throw Failure("\(program) is not installed") }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/timeout")
    process.arguments = ["--signal=KILL", "120", path] + arguments
    process.environment = [
      "PATH": "/usr/bin:/bin", "NUT_CONFPATH": folder.path, "NUT_STATEPATH": folder.path + "/state",
      "NUT_ALTPIDPATH": folder.path + "/state",
    ]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    running[program] = process
  }

  /// `timeout` leads a process group of its own, with the program in it. Not asked to end: Foundation may start programs
  /// with that signal blocked.
  private func kill(_ program: String) {
    guard let process = running.removeValue(forKey: program) else { return }
    signal(-process.processIdentifier)
    signal(process.processIdentifier)
    process.waitUntilExit()
  }

  /// A port that nobody listened on a moment ago.
  private static func freePort() throws -> Int {
    #if canImport(Glibc)
      let stream = Int32(SOCK_STREAM.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    let socket = socket(AF_INET, stream, 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
      }
    }
    guard socket >= 0, bound else { throw Failure("no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}

// Swift's `kill` is shadowed by a member above.
private func signal(_ pid: pid_t) { _ = kill(pid, SIGKILL) }
