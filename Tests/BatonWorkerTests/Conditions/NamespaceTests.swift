@testable import BatonHost
@testable import BatonProcess

#if os(Linux)
  import BatonModel
  import ContractRows
  import Testing

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Asks the system directly, without Baton's code: a fault in that code has to fail these tests, and not to skip
  /// them.
  private let namespacesArePossible: Bool = {
    let name = "baton" + UUID().uuidString.prefix(8).lowercased()
    // The second command makes a mount namespace with a sysfs of its own, as the tests do.
    let steps = ["netns add \(name)", "netns exec \(name) true", "-n \(name) link add inner type veth peer name outer"]
    defer { system("ip netns del \(name) >/dev/null 2>&1") }
    return steps.allSatisfy { system("ip \($0) >/dev/null 2>&1") == 0 }
  }()

  /// The real probe reads the real files of the kernel, in a network namespace that each test makes.
  @Suite(
    "A real network", .enabled(if: namespacesArePossible, "no right to make a network namespace, or no ip"),
    .timeLimit(.minutes(10)))
  struct NamespaceTests {
    @Test("carrier, routes and links are noticed when they change, and read as they are")
    func changes() async throws {
      try await TestNetwork.with { network in
        let watch = try #require(try network.run { NetlinkWatch() })
        let events = watch.makeAsyncIterator()
        var settings = NetworkSettings()
        let read = { [network] (settings: NetworkSettings) in
          try network.run { NetworkProbe(root: network.root, settings: settings).read() }
        }
        /// Runs the commands, then waits for events and reads after each of them, until the reading is `raw`.
        func expect(_ raw: String, after commands: [String]...) async throws {
          for command in commands { try await network.ip(command) }
          var reading = try read(settings)
          repeat {
            try #require(await events.next() != nil)
            reading = try read(settings)
          } while reading.raw != raw
        }
        let raw = try read(settings).raw
        #expect(raw == "no default route")
        try await expect(
          "default by inner (up), unmetered", after: ["link", "set", "lo", "up"], ["link", "set", "inner", "up"],
          ["addr", "add", "192.0.2.2/24", "dev", "inner"], ["route", "add", "default", "via", "192.0.2.1"])
        try await network.ip(["link", "set", "outer", "down"], inside: false)
        try await expect("default by inner (down)")
        try await network.ip(["link", "set", "outer", "up"], inside: false)
        try await expect("default by inner (up), unmetered")
        try await expect("no default route", after: ["route", "del", "default"])
        settings.requireDefaultRoute = false
        #expect(try read(settings).raw == "no default route, but inner (up), unmetered")
        settings = NetworkSettings()
        settings.metered = ["inn*"]
        try await expect(
          "default by inner (up), metered by worker.yaml",
          after: ["-6", "addr", "add", "2001:db8::2/64", "dev", "inner", "nodad"],
          ["-6", "route", "add", "default", "via", "2001:db8::1", "dev", "inner"])
        try await expect("no default route", after: ["link", "del", "inner"])
      }
    }

    @Test("the reader of events ends with its task, and hears nothing where nothing changes")
    func cancellation() async throws {
      try await TestNetwork.with { network in
        let watch = try #require(try network.run { NetlinkWatch() })
        let task = Task {
          var count = 0
          for await _ in watch { count += 1 }
          return count
        }
        task.cancel()
        #expect(await task.value == 0)
      }
    }

    @Test(
      "where the process's routes are not of the namespace that sysfs shows, the routes are right",
      arguments: [true, false])
    func otherSysfs(hasNamesake: Bool) async throws {
      try await TestNetwork.with { network in
        // As in a container with the host's `/sys`: sysfs does not show the interface, or shows another one of the same
        // name.
        let namesake = SystemRoot().names(in: "sys/class/net").first { $0 != "lo" }
        let name = hasNamesake ? namesake ?? "inner" : "inner"
        if name != "inner" { try await network.ip(["link", "set", "inner", "name", name]) }
        try await network.ip(["link", "set", name, "up"])
        try await network.ip(["addr", "add", "192.0.2.2/24", "dev", name])
        try await network.ip(["route", "add", "default", "via", "192.0.2.1"])
        let watch = try #require(try network.run { NetlinkWatch() })
        let events = watch.makeAsyncIterator()
        for (state, raw) in [("up", "default by \(name) (up), unmetered"), ("down", "default by \(name) (down)")] {
          try await network.ip(["link", "set", "outer", state], inside: false)
          // The kernel reports the change to the other end of the pair after some time.
          while try network.run(own: true, { NetworkProbe(root: SystemRoot()).read().raw }) != raw {
            try #require(await events.next() != nil)
          }
        }
      }
    }
  }

  /// A network namespace with `inner`, one end of a pair of interfaces. The other end, `outer`, is in the host's
  /// namespace.
  struct TestNetwork: Sendable {
    let name: String
    let folder: String
    /// The root for the probe: `proc` is that of the thread that reads, and `run` mounts `sys` for this thread.
    var root: SystemRoot { SystemRoot(folder + "/root") }

    private var outer: String { "o" + name.suffix(12) }

    static func with<Value>(_ body: (TestNetwork) async throws -> Value) async throws -> Value {
      let name = "baton" + UUID().uuidString.prefix(8).lowercased()
      let network = TestNetwork(name: name, folder: FileManager.default.temporaryDirectory.path + "/" + name)
      let result: Result<Value, any Error>
      do {
        try await network.make()
        result = .success(try await body(network))
      } catch {
        result = .failure(error)
      }
      await network.remove()
      return try result.get()
    }

    private func make() async throws {
      try await Self.ip(["netns", "add", name])
      try await Self.ip(["link", "add", outer, "up", "type", "veth", "peer", "name", "inner", "netns", name])
      try FileManager.default.createDirectory(atPath: folder + "/root/sys", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: folder + "/root/proc", withDestinationPath: "/proc/thread-self")
    }

    /// Removes the namespace, in a new task: the task of a test that ran out of time is cancelled, and would start no
    /// command.
    private func remove() async {
      await Task {
        try? await Self.ip(["netns", "del", name])
        try? await Self.ip(["link", "del", outer])
        try? FileManager.default.removeItem(atPath: folder)
      }.value
    }

    func ip(_ arguments: [String], inside: Bool = true) async throws {
      try await Self.ip((inside ? ["-n", name] : []) + arguments.map { $0 == "outer" ? outer : $0 })
    }

    private struct Refused: Error, CustomStringConvertible { var description: String }

    private static func ip(_ arguments: [String]) async throws {
      let answer = await SystemCommand.system.run(["ip"] + arguments, .seconds(30))
      guard case .output = answer else {
        throw Refused(description: "ip \(arguments.joined(separator: " ")): \(answer)")
      }
    }

    /// Runs `body` on a new thread that has joined the namespace and has mounted a `sys` that shows it. The mount ends
    /// with the thread.
    /// - Parameter own: whether `/proc/net` shows the namespace too. `/sys` still shows the host's.
    func run<Value: Sendable>(own: Bool = false, _ body: @escaping @Sendable () throws -> Value) throws -> Value {
      let box = Box<Value>()
      let thread = Thread.start {
        box.value = Result {
          try enter(own: own)
          return try body()
        }
      }
      pthread_join(thread, nil)
      return try box.value!.get()
    }

    private func enter(own: Bool) throws {
      let descriptor = open("/run/netns/" + name, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      guard Namespaces.join(descriptor, Namespaces.network) == 0, Namespaces.leave(Namespaces.mounts) == 0,
        mount(nil, "/", nil, UInt(MS_REC) | UInt(MS_PRIVATE), nil) == 0,
        mount("sysfs", folder + "/root/sys", "sysfs", 0, nil) == 0,
        !own || mount("/proc/thread-self/net", "/proc/self/net", nil, UInt(MS_BIND), nil) == 0
      else { throw Refused(description: String(cString: strerror(errno))) }
    }
  }

  /// setns(2) and unshare(2). They are extensions of the C library that Swift does not import, and are looked up by
  /// name.
  private enum Namespaces {
    static let (network, mounts): (Int32, Int32) = (0x4000_0000, 0x0002_0000)

    static func join(_ descriptor: Int32, _ kind: Int32) -> Int32 {
      typealias Function = @convention(c) (Int32, Int32) -> Int32
      return function("setns", as: Function.self)?(descriptor, kind) ?? -1
    }

    static func leave(_ kind: Int32) -> Int32 {
      typealias Function = @convention(c) (Int32) -> Int32
      return function("unshare", as: Function.self)?(kind) ?? -1
    }

    private static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
      dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
  }

  /// `@unchecked Sendable`: one thread writes the value, and it is read after that thread has ended.
  private final class Box<Value>: @unchecked Sendable { var value: Result<Value, any Error>? }

  private enum Thread {
    private final class Work {
      let body: () -> Void
      init(_ body: @escaping () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
      var thread = pthread_t()
      let work = Unmanaged.passRetained(Work(body))
      let code = pthread_create(
        &thread, nil,
        { pointer in
          Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().body()
          return nil
        }, work.toOpaque())
      precondition(code == 0, "no thread")
      return thread
    }
  }
#endif
