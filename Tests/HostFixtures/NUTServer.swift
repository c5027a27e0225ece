import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A real `upsd` with the dummy driver, in a folder of its own and on a free port of the loopback interface. A test
/// decides with `set` what `upsc` reports about the UPS `demo`.
///
/// The driver reads its file again when it has changed (`mode = dummy-loop`). The programs are started directly, and
/// not by Debian's script at `/usr/sbin/upsd`, which does nothing unless `/etc/nut/nut.conf` allows it. They run as
/// root, because the user `nut` could not read the folder. `timeout` ends both after 120 s, also if this process dies.
package final class NUTServer: @unchecked Sendable {
  private static let programs = ["/lib/nut", "/usr/lib/nut", "/usr/libexec/nut"]

  private static func find(_ name: String, in folders: [String]) -> String? {
    folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  private static let driver = find("dummy-ups", in: programs)
  private static let server = find("upsd", in: programs)

  /// Whether the programs are installed (Debian: `nut-server`, `nut-client`) and this process runs as root.
  package static var isInstalled: Bool {
    driver != nil && server != nil && find("upsc", in: ["/usr/bin", "/bin", "/usr/local/bin"]) != nil && getuid() == 0
  }

  package let port: Int
  package var address: String { "127.0.0.1:\(port)" }
  package var name: String { "demo@\(address)" }

  private let folder: MachineFolder
  // `@unchecked Sendable`: only the test's own task uses this property.
  private var running: [String: Process] = [:]

  /// Starts both programs, hands the server to `body`, and ends the programs afterwards.
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

  /// Sets what the UPS reports. The driver reads it within about a second.
  package func set(_ status: String, charge: Int) throws {
    // The file is replaced in one step: the driver must not read half of it.
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

  /// Kills the program. `timeout` leads a process group that contains the program. SIGKILL is used at once, because
  /// Foundation may start programs with SIGTERM blocked.
  private func kill(_ program: String) {
    guard let process = running.removeValue(forKey: program) else { return }
    signal(-process.processIdentifier)
    signal(process.processIdentifier)
    process.waitUntilExit()
  }

  /// A port on which no program listened a moment ago.
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

// Inside of the class, its method `kill` hides the C function.
private func signal(_ pid: pid_t) { _ = kill(pid, SIGKILL) }
