import BatonModel
import BatonStore
import Testing

@testable import BatonDoctor

@Suite("What baton doctor makes of what it found")
struct FindingTests {
  /// A host on which nothing is wrong.
  static var healthy: HostFacts {
    var facts = HostFacts()
    facts.user = .init(id: 998, name: "baton")
    var store = HostFacts.Folder(path: "/var/lib/baton")
    (store.owner, store.mode) = (998, 0o700)
    store.mount = MountedFileSystem(kind: "ext4", device: "/dev/sda1", options: ["rw", "relatime"])
    store.room = .init(freeBytes: 40 << 30, freeFiles: 2_000_000)
    store.syncs = .init(count: 1250, lasted: .seconds(1), slowest: .milliseconds(4))
    facts.store = store
    facts.work = store
    facts.work?.syncs = nil
    facts.work?.path = "/var/lib/baton-worker"
    facts.work?.nearest = "/var/lib/baton-worker"
    facts.database = StoreInspection(path: "/var/lib/baton/baton.sqlite", state: .current)
    facts.tokens = [
      .init(path: "/var/lib/baton/token", kind: .own, state: .there(owner: 998, mode: 0o600), isReadable: true)
    ]
    facts.clock = .init(isSynchronised: true, error: .milliseconds(12))
    facts.coordinators = [
      .init(
        address: "127.0.0.1:7420",
        answer: .answered(version: "0.1.0", ahead: .milliseconds(3), within: .milliseconds(9)))
    ]
    facts.groups = .init(base: "/sys/fs/cgroup/system.slice/baton-worker.service", hasProcessorTime: true)
    facts.owner = .answers(path: "/run/baton/worker.sock")
    facts.limits = .init(openFiles: 65_536, openFilesAtMost: 65_536, processes: 4096)
    facts.versions = .init(baton: "0.1.0", sqlite: "3.40.1", system: "Linux 6.1.0 x86_64")
    facts.conditions = .assumed
    facts.sandbox = HostSandbox(required: .basic, available: .basic)
    facts.permissions = CommandPermissions(commands: [PathPattern("/usr/bin/ffmpeg")!])
    return facts
  }

  @Test("a host on which nothing is wrong has only oks, and each check one line")
  func fine() {
    let findings = Self.healthy.findings
    #expect(findings.filter { $0.level != .ok }.isEmpty)
    let checks = findings.map { "\($0.area.rawValue).\($0.check)" }
    #expect(Set(checks).count == checks.count && checks.count > 20)
  }

  @Test(
    "the replication of PostgreSQL says what survives",
    arguments: [
      (.none, .ok, "comes back with the server's disk"), (.asynchronous(connected: 1), .warning, "may lose"),
      (.synchronous(names: "b", connected: 1), .ok, "survives a failover"),
      (.synchronous(names: "b", connected: 0), .problem, "no commit is answered"),
      (.isStandby, .problem, "takes no writes"),
    ] as [(PostgresInspection.Replication, Finding.Level, String)])
  func replication(found: PostgresInspection.Replication, level: Finding.Level, text: String) {
    var facts = Self.healthy
    facts.postgres = PostgresInspection(
      address: "postgresql://db/baton", state: .found(found, synchronousCommit: "on", nil))
    let finding = facts.findings.first { $0.check == "replication" }
    #expect(finding?.level == level && finding?.found.contains(text) == true)
  }

  @Test(
    "a database that the store has left is a warning, and the speed of the data folder's disk is not that of the store")
  func otherPlaces() {
    var facts = Self.healthy
    #expect(facts.findings.contains { $0.check == "sync" })
    facts.postgres = PostgresInspection(address: "postgresql://db/baton", state: .moved("/var/lib/baton"))
    let finding = facts.findings.first { $0.found.contains("not in postgresql://db/baton") }
    #expect(finding?.level == .warning && finding?.found.hasSuffix("to /var/lib/baton") == true)
    #expect(!facts.findings.contains { $0.check == "sync" })
  }

  @Test(
    "another history of the server is a warning until a coordinator has noticed it",
    arguments: [
      (nil, nil, .ok, "server 7, timeline 2, as before"),
      (.init(system: 7, timeline: 1), nil, .warning, "timeline is 2, and was 1"),
      (.init(system: 6, timeline: 2), nil, .warning, "on another server than before"),
      (.init(system: 7, timeline: 1), "2026-11-25T06:00:00Z", .ok, "has said so at 2026-11-25T06:00:00Z"),
    ] as [(PostgresHistory.Point?, String?, Finding.Level, String)])
  func history(former: PostgresHistory.Point?, noticedAt: String?, level: Finding.Level, text: String) {
    var facts = Self.healthy
    let history = PostgresHistory(present: .init(system: 7, timeline: 2), former: former, noticedAt: noticedAt)
    facts.postgres = PostgresInspection(
      address: "postgresql://db/baton", state: .found(.none, synchronousCommit: "on", history))
    let finding = facts.findings.first { $0.check == "history" }
    #expect(finding?.level == level && finding?.found.contains(text) == true)
  }

  @Test(
    "an interpreter among the allowed commands allows everything",
    arguments: [
      ("/bin/sh", true), ("/usr/bin/python3.12", true), ("/usr/bin/*", true), ("/**", true), ("/usr/bin/env", true),
      ("/usr/bin/ffmpeg", false), ("/opt/jobs/**", false), ("/opt/perl/render", false),
    ])
  func interpreters(pattern: String, isWarning: Bool) {
    var facts = Self.healthy
    facts.permissions?.commands = [PathPattern(pattern)!]
    let finding = facts.findings.first { $0.check == "allowedCommands" }
    #expect(finding?.level == (isWarning ? .warning : .ok))
  }

  @Test("a sandbox that cannot be given is a problem only if it is required")
  func sandbox() {
    func finding(_ required: SandboxLevel?, _ available: SandboxLevel?) -> Finding? {
      var facts = Self.healthy
      let problems: [SandboxLevel?: String] = [
        nil: "the kernel has no Landlock", .basic: "namespaces cannot be applied",
      ]
      facts.sandbox = HostSandbox(required: required, available: available, problem: problems[available] ?? "")
      return facts.findings.first { $0.check == "sandbox" }
    }
    #expect(finding(.basic, .basic)?.level == .ok)
    #expect(finding(.basic, .basic)?.found.contains("no 'strict', because namespaces cannot be applied") == true)
    #expect(finding(.strict, .strict)?.level == .ok)
    #expect(finding(.strict, .basic)?.level == .problem)
    #expect(finding(.strict, .basic)?.found.contains("'basic' at most: namespaces cannot be applied") == true)
    #expect(finding(.strict, .basic)?.remedy?.contains("user.max_user_namespaces") == true)
    #expect(finding(nil, .basic)?.level == .warning)
    #expect(finding(nil, nil)?.level == .warning)
    #expect(finding(.basic, nil)?.level == .problem)
    #expect(finding(.basic, nil)?.found.contains("the kernel has no Landlock") == true)
    #expect(finding(.basic, nil)?.remedy?.contains("baton-exec") == true)
  }

  struct Case: Sendable {
    var check: String
    var level: Finding.Level
    /// Texts that must be in the finding or in its remedy.
    var words: [String]
    var change: @Sendable (inout HostFacts) -> Void

    init(
      _ check: String, _ level: Finding.Level, _ words: [String],
      _ change: @escaping @Sendable (inout HostFacts) -> Void
    ) {
      (self.check, self.level, self.words, self.change) = (check, level, words, change)
    }
  }

  private static func mounted(_ kind: String, _ options: [String] = []) -> MountedFileSystem {
    MountedFileSystem(kind: kind, device: "x", options: options)
  }

  static let cases: [Case] = [
    Case("fileSystem", .problem, ["nfs4", "refuses", "local disk"]) { $0.store?.mount = mounted("nfs4") },
    Case("fileSystem", .warning, ["tmpfs", "in memory", "--data"]) { $0.store?.mount = mounted("tmpfs") },
    Case("fileSystem", .warning, ["overlay", "container", "volume"]) { $0.store?.mount = mounted("overlay") },
    Case("fileSystem", .problem, ["'nobarrier'", "power cut"]) {
      $0.store?.mount = mounted("ext4", ["rw", "nobarrier"])
    },
    Case("fileSystem", .ok, ["does not say"]) { $0.store?.mount = nil },
    Case("folder", .problem, ["cannot be written by baton (Permission denied)", "owner and mode"]) {
      $0.store?.failure = "Permission denied"
    },
    Case("folder", .problem, ["cannot be made: /var cannot be written", "mounted read-only"]) { facts in
      facts.store?.nearest = "/var"
      facts.store?.failure = "Read-only file system"
      facts.store?.room?.isReadOnly = true
    },
    Case("folder", .problem, ["is not a folder", "--data"]) { $0.store?.isFolder = false },
    Case("folder", .ok, ["not there yet"]) { $0.store?.nearest = "/var/lib" },
    Case("folder", .warning, ["belongs to user 0", "sudo -u '#0'"]) { $0.store?.owner = 0 },
    Case("folder", .warning, ["mode 0755", "chmod 700 /var/lib/baton"]) { $0.store?.mode = 0o755 },
    Case("folderWorker", .problem, ["/var/lib/baton-worker", "No space left"]) {
      $0.work?.failure = "No space left on device"
    },
    Case("space", .problem, ["63.9 MiB free"]) { $0.store?.room?.freeBytes = 64 << 20 - 1 },
    Case("space", .warning, ["1023.9 MiB free"]) { $0.store?.room?.freeBytes = 1 << 30 - 1 },
    Case("inodes", .warning, ["9999 inodes"]) { $0.store?.room?.freeFiles = 9999 },
    Case("inodes", .problem, ["0 inodes"]) { $0.store?.room?.freeFiles = 0 },
    Case("sync", .warning, ["60 durable writes", "SSD"]) { $0.store?.syncs?.count = 60 },
    Case("sync", .problem, ["9 durable writes", "faster disk"]) { $0.store?.syncs?.count = 9 },
    Case("sync", .problem, ["the slowest 5500 ms"]) { $0.store?.syncs?.slowest = .milliseconds(5500) },
    Case("sync", .warning, ["probably does not reach the disk", "honour flushes"]) { $0.store?.syncs?.count = 200_000 },
    Case("sync", .ok, ["nothing is durable there"]) { facts in
      facts.store?.mount = mounted("tmpfs")
      facts.store?.syncs?.count = 400_000
    },
    Case("database", .problem, ["newer version", "install that version"]) {
      $0.database = StoreInspection(path: "/d", state: .newer)
    },
    Case("database", .ok, ["older version's", "2 steps"]) {
      $0.database = StoreInspection(path: "/d", state: .older(2))
    },
    Case("database", .problem, ["of another program"]) { $0.database = StoreInspection(path: "/d", state: .foreign) },
    Case("database", .problem, ["cannot be read", "backup"]) {
      $0.database = StoreInspection(path: "/d", state: .unreadable("damaged"))
    },
    Case("database", .ok, ["cannot be read", "process 7 has it open"]) { facts in
      (facts.database, facts.holder) = (StoreInspection(path: "/d", state: .unreadable("damaged")), 7)
    },
    Case("token", .problem, ["mode 0644", "chmod 600"]) { $0.tokens[0].state = .there(owner: 998, mode: 0o644) },
    Case("token", .problem, ["cannot be read by baton", "BATON_TOKEN_FILE"]) { facts in
      (facts.tokens[0].isReadable, facts.tokens[0].state) = (false, .there(owner: 5, mode: 0o600))
    },
    Case("tokenFile", .problem, ["is not there", "0600"]) {
      $0.tokens.append(.init(path: "/etc/t", kind: .named, state: .missing, isReadable: false))
    },
    Case("user", .warning, ["root", "user of their own"]) { facts in
      facts.user = .init(id: 0, name: "root")
      facts.store?.owner = 0
      facts.work?.owner = 0
    },
    Case("ownerSocket", .ok, ["2 workers of this host answer", "anna (/a.sock), ben (/b.sock)"]) {
      $0.owner = .several(["anna (/a.sock)", "ben (/b.sock)"])
    },
    Case("ownerSocket", .warning, ["may not ask", "usermod"]) { $0.owner = .notPermitted("this user may not ask") },
    Case("synchronised", .warning, ["is not synchronised", "chrony"]) { $0.clock.isSynchronised = false },
    Case("coordinatorClock", .warning, ["2h ahead of", "synchronise both"]) {
      $0.coordinators[0].answer = .answered(version: "0.1.0", ahead: .seconds(7200), within: .milliseconds(5))
    },
    Case("coordinatorClock", .warning, ["3s behind"]) {
      $0.coordinators[0].answer = .answered(version: "0.1.0", ahead: .seconds(-3), within: .milliseconds(5))
    },
    Case("coordinatorClock", .ok, ["same time"]) {
      $0.coordinators[0].answer = .answered(version: "0.1.0", ahead: .seconds(-3), within: .seconds(2))
    },
    Case("coordinator", .warning, ["version 0.2.0", "coordinator first"]) {
      $0.coordinators[0].answer = .answered(version: "0.2.0", ahead: nil, within: .zero)
    },
    Case("coordinator", .problem, ["does not let baton in", "BATON_TOKEN_FILE"]) {
      $0.coordinators[0].answer = .notPermitted("the token is not taken")
    },
    Case("coordinator", .warning, ["no coordinator answers at b:7420", "another one of the fleet does", "workers go"]) {
      $0.coordinators.insert(.init(address: "b:7420", answer: .unreachable("")), at: 0)
    },
    Case("coordinatorClock", .warning, ["the clock of the coordinator at b:7420 is 3s behind"]) {
      $0.coordinators.insert(
        .init(address: "b:7420", answer: .answered(version: "0.1.0", ahead: .seconds(-3), within: .zero)), at: 0)
    },
    Case("coordinator", .ok, ["no coordinator answers"]) { $0.coordinators[0].answer = .unreachable("") },
    Case("coordinator", .warning, ["no coordinator answers", "host invite"]) { facts in
      (facts.coordinators[0].answer, facts.roles) = (.unreachable(""), [.worker])
    },
    Case("controlGroups", .warning, ["no cgroup v2", "sweep", "Delegate=yes"]) {
      $0.groups = .init(base: nil, why: "no cgroup v2")
    },
    Case("controlGroups", .ok, ["only niceness"]) { $0.groups?.hasProcessorTime = false },
    Case("kernel", .warning, ["5.10", "before 5.14"]) { $0.versions.system = "Linux 5.10.0-28 x86_64" },
    Case("kernel", .ok, ["5.14"]) { $0.versions.system = "Linux 5.14 x86_64" },
    Case("openFiles", .problem, ["128 open files", "LimitNOFILE"]) { $0.limits.openFiles = 128 },
    Case("openFiles", .warning, ["1000 open files", "ulimit -n"]) { $0.limits.openFiles = 1000 },
    Case("openFiles", .ok, ["1000 open files"]) { facts in
      (facts.limits.openFiles, facts.roles) = (1000, [.worker])
    },
    Case("processes", .warning, ["100 processes", "LimitNPROC"]) { $0.limits.processes = 100 },
    Case("settings", .problem, ["'x' is not known"]) { $0.mistakes = ["'x' is not known"] },
    Case("network", .warning, ["unavailable", "default route"]) {
      $0.conditions?.network = Reading(.unavailable, source: "routes", raw: "no default route")
    },
    Case("thermal", .warning, ["serious", "cool"]) { $0.conditions?.thermal = Reading(.serious, source: "sysfs") },
    Case("idle", .warning, ["treated as in use", "treatUnknownAs.idle"]) {
      $0.conditions?.isIdle = Reading(false, source: "assumed", raw: "unknown: no input devices")
    },
    Case("idle", .ok, ["in use, reported by logind"]) { $0.conditions?.isIdle = Reading(false, source: "logind") },
  ]

  @Test("each thing that can be wrong is told, with what to do, and nothing else is", arguments: cases.indices)
  func judgement(index: Int) throws {
    let one = Self.cases[index]
    var facts = Self.healthy
    one.change(&facts)
    let findings = facts.findings
    let finding = try #require(findings.first { $0.check == one.check })
    #expect(finding.level == one.level)
    let text = finding.found + " " + (finding.remedy ?? "")
    for words in one.words { #expect(text.contains(words), "'\(words)' is not in: \(text)") }
    #expect((finding.remedy == nil) == (finding.level == .ok))
    #expect(findings.filter { $0.level != .ok && $0 != finding && $0.check != one.companion }.isEmpty)
  }

  @Test("a role looks at nothing of the other one")
  func roles() {
    var facts = Self.healthy
    (facts.roles, facts.store, facts.database) = ([.worker], nil, nil)
    let checks = Set(facts.findings.map(\.check))
    #expect(checks.isDisjoint(with: ["folder", "fileSystem", "sync", "database", "sqlite"]))
    #expect(checks.contains("folderWorker"))
  }
}

extension FindingTests.Case {
  /// The other check that reports something for the same reason.
  fileprivate var companion: String? { check == "sync" && level == .ok ? "fileSystem" : nil }
}
