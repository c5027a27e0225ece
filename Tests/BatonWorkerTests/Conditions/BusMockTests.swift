@testable import BatonHost
@testable import BatonProcess

#if os(Linux)
  import BatonModel
  import ContractRows
  import Testing

  @testable import BatonWorker

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Tests with a real message bus, on which python-dbusmock simulates logind, NetworkManager and
  /// power-profiles-daemon.
  @Suite(
    "A real bus",
    .enabled("dbus-daemon, busctl, gdbus or python3-dbusmock is not installed") { await MockBus.isAvailable },
    .timeLimit(.minutes(10)))
  struct BusMockTests {
    @Test("properties are read, and read again after they changed")
    func properties() async throws {
      try await MockBus.with { mock in
        let bus = SystemBus(command: mock.command, patience: .seconds(60))
        try await mock.start("power_profiles_daemon", as: "net.hadess.PowerProfiles")
        let probe = PowerProfileProbe(bus: bus)
        #expect(await probe.read(at: .second(0)).value?.value == false)
        try await mock.set("ActiveProfile", "<'power-saver'>", of: .profiles)
        #expect(await probe.read(at: .second(1)).value?.value == true)

        #expect(await bus.logind(sessions: [], at: .second(0)).value == nil, "not started")
        try await mock.start("logind", as: "org.freedesktop.login1")
        try await mock.add("BlockInhibited", "<'sleep'>", to: .logind)
        #expect(await bus.logind(sessions: [], at: .second(59)).value == nil, "not asked again within a minute")
        let awake = LogindAnswer.Hint(isIdle: false, since: nil)
        #expect(await bus.logind(sessions: [], at: .second(60)).value == LogindAnswer(host: awake))
        try await mock.set("IdleHint", "<true>", of: .logind)
        try await mock.set("IdleSinceHint", "<uint64 1790000000000000>", of: .logind)
        let idle = LogindAnswer.Hint(isIdle: true, since: Timestamp(nanoseconds: 1_790_000_000_000_000_000))
        #expect(await bus.logind(sessions: ["2"], at: .second(61)).value == LogindAnswer(host: idle))

        try await mock.start("networkmanager", as: "org.freedesktop.NetworkManager")
        #expect(await bus.networkCost(at: .second(0)).value == nil, "this mock has no such property")
        try await mock.add("Metered", "<uint32 1>", to: .network)
        #expect(await bus.networkCost(at: .second(60)).value == .yes)
      }
    }

    @Test("a session's hints are found below its escaped name")
    func sessions() async throws {
      try await MockBus.with { mock in
        try await mock.start("logind", as: "org.freedesktop.login1")
        try await mock.add("BlockInhibited", "<'idle:sleep'>", to: .logind)
        try await mock.addSession("/org/freedesktop/login1/session/_32")
        let answer = await SystemBus(command: mock.command, patience: .seconds(60)).logind(
          sessions: ["2", "9"], at: .second(0))
        let hint = LogindAnswer.Hint(isIdle: true, since: Timestamp(nanoseconds: 5_000_000_000), isLocked: true)
        #expect(answer.value?.sessions == ["2": hint])
        #expect(answer.value?.isInhibited == true)
      }
    }

    @Test("every program notices a change, on a bus that may be monitored", arguments: BusWatch.programs(isRoot: true))
    func watchAsRoot(program: [String]) async throws {
      try await MockBus.with { try await watch($0, program) }
    }

    @Test("and those for every user do so where nobody may monitor", arguments: BusWatch.programs(isRoot: false))
    func watchAsUser(program: [String]) async throws {
      try await MockBus.with(mayBeMonitored: false) { try await watch($0, program) }
    }

    @Test("where only a program that may not monitor is there, nothing watches")
    func blind() async throws {
      try await MockBus.with(mayBeMonitored: false) { mock in
        let program = BusWatch.programs(isRoot: true).filter { $0[0] == "busctl" }
        let (events, inbox) = AsyncStream<BusWatch.Event>.makeStream()
        await BusWatch(variables: mock.variables, candidates: program) { _ in throw CancellationError() }
          .run { inbox.yield($0) }
        inbox.finish()
        #expect(await events.reduce(into: []) { $0.append($1) } == [.blind])
      }
    }

    private func watch(_ mock: MockBus, _ program: [String]) async throws {
      try await mock.start("logind", as: "org.freedesktop.login1")
      let (events, inbox) = AsyncStream<BusWatch.Event>.makeStream()
      let watch = BusWatch(variables: mock.variables, candidates: [program])
      let task = Task { await watch.run { inbox.yield($0) } }
      // The first output of the program shows only that it has begun, and not that it already listens. The property is
      // therefore changed again and again, until there are more events than the program causes by itself.
      let seen = Task { await events.prefix(6).reduce(into: []) { $0.append($1) } }
      let changes = Task {
        for round in 0..<10_000 where !Task.isCancelled {
          try await mock.set("IdleHint", round % 2 == 0 ? "<true>" : "<false>", of: .logind)
        }
      }
      #expect(await seen.value == Array(repeating: .changed, count: 6))
      changes.cancel()
      _ = await changes.result
      task.cancel()
      await task.value
    }

    @Test("without a bus everything is missing, and nothing watches")
    func noBus() async {
      let variables = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/no/such/socket"]
      let bus = SystemBus(command: .system(with: variables), patience: .seconds(60))
      #expect(await PowerProfileProbe(bus: bus).read(at: .second(0)).value == nil)
      #expect(await bus.logind(sessions: [], at: .second(0)).value == nil)
      let watch = BusWatch(variables: variables) { _ in throw CancellationError() }
      let (events, inbox) = AsyncStream<BusWatch.Event>.makeStream()
      await watch.run { inbox.yield($0) }
      inbox.finish()
      #expect(await events.reduce(into: []) { $0.append($1) } == [.blind])
    }
  }

  /// A message bus for one test, with simulated services.
  struct MockBus: Sendable {
    enum Object: String { case logind, network, profiles }

    let folder: String
    let mayBeMonitored: Bool
    var address: String { "unix:path=\(folder)/socket" }
    var variables: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }
    var command: SystemCommand { .system(with: variables) }
    private let processes = Processes()

    static var isAvailable: Bool {
      get async {
        for program in ["dbus-daemon", "busctl", "gdbus"] where SystemCommand.find(program) == nil { return false }
        return await SystemCommand.system.run(["/usr/bin/python3", "-c", "import dbusmock"], .seconds(60))
          == .output("")
      }
    }

    static func with(mayBeMonitored: Bool = true, _ body: (MockBus) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory.path + "/baton-bus-" + UUID().uuidString
      let mock = MockBus(folder: folder, mayBeMonitored: mayBeMonitored)
      try FileManager.default.createDirectory(atPath: mock.folder, withIntermediateDirectories: true)
      try Data(mock.configuration.utf8).write(to: URL(filePath: mock.folder + "/bus.conf"))
      let result = await Result {
        try await mock.startBus()
        try await body(mock)
      }
      await mock.processes.end()
      try? FileManager.default.removeItem(atPath: mock.folder)
      try result.get()
    }

    /// Every user may own names, and send and receive messages. Only the right to monitor the bus depends on
    /// `mayBeMonitored`; on a real bus only root has it.
    private var configuration: String {
      """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>system</type>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow user="*"/><allow own="*"/>
          <allow send_type="method_call"/><allow send_type="signal"/>
          <allow send_requested_reply="true" send_type="method_return"/>
          <allow send_requested_reply="true" send_type="error"/>
          <allow receive_type="method_call"/><allow receive_type="method_return"/>
          <allow receive_type="error"/><allow receive_type="signal"/>
          <\(mayBeMonitored ? "allow" : "deny") send_interface="org.freedesktop.DBus.Monitoring"/>
        </policy>
      </busconfig>
      """
    }

    private func startBus() async throws {
      try await processes.start(["dbus-daemon", "--nofork", "--config-file=\(folder)/bus.conf"], variables)
      try await wait(forName: "org.freedesktop.DBus")
    }

    /// Starts a simulated service, and returns when the bus knows it.
    func start(_ template: String, as name: String) async throws {
      try await processes.start(["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", template], variables)
      try await wait(forName: name)
    }

    /// Asks the bus until the name has an owner. Each question takes some milliseconds, so this is not a busy loop.
    private func wait(forName name: String) async throws {
      for _ in 0..<2000 {
        let question = [
          "busctl", "--system", "--json=short", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus",
        ]
        let answer = await command.run(question + ["NameHasOwner", "s", name], .seconds(30))
        if case .output(let text) = answer, text.contains("true") { return }
      }
      throw CancellationError()
    }

    func set(_ property: String, _ value: String, of object: Object) async throws {
      try await call(object, "UpdateProperties", [object.interface, "{'\(property)': \(value)}"])
    }

    func add(_ property: String, _ value: String, to object: Object) async throws {
      try await call(object, "AddProperty", [object.interface, property, value])
    }

    func addSession(_ path: String) async throws {
      let properties = "{'IdleHint': <true>, 'IdleSinceHint': <uint64 5000000>, 'LockedHint': <true>}"
      let interface = "org.freedesktop.login1.Session"
      try await call(.logind, "AddObject", [path, interface, properties, "@a(ssss) []"])
    }

    private func call(_ object: Object, _ method: String, _ arguments: [String]) async throws {
      let call = ["gdbus", "call", "--system", "-d", object.service, "-o", object.path, "-m"]
      let answer = await command.run(call + ["org.freedesktop.DBus.Mock.\(method)"] + arguments, .seconds(30))
      guard case .output = answer else {
        if !Task.isCancelled { Issue.record("\(method) \(arguments): \(answer)") }
        throw CancellationError()
      }
    }
  }

  extension MockBus.Object {
    var service: String {
      switch self {
      case .logind: "org.freedesktop.login1"
      case .network: "org.freedesktop.NetworkManager"
      case .profiles: "net.hadess.PowerProfiles"
      }
    }
    var path: String { "/" + service.replacing(".", with: "/") }
    var interface: String { self == .logind ? service + ".Manager" : service }
  }

  /// Programs that run until the test is over.
  private actor Processes {
    private var tasks: [Task<Void, Never>] = []

    func start(_ command: [String], _ variables: [String: String]) throws {
      let monitor = try #require(BusMonitor(command, variables))
      tasks.append(Task { _ = await monitor.run {} })
    }

    func end() async {
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
    }
  }

  extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
      do { self = .success(try await body()) } catch { self = .failure(error) }
    }
  }
#endif
