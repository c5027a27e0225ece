import BatonHost
import BatonModel
import BatonProcess
import BatonSettings
import BatonWorker
import BatonWorkerSettings
import ContractRows
import Foundation
import Testing

@Suite("worker.yaml")
struct WorkerSettingsTests {
  static func read(_ yaml: String, environment: [String: String] = [:]) async throws -> WorkerConfiguration {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("worker-\(UUID()).yaml").path
    try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    var flags = WorkerSettings.Flags()
    flags.config = file
    return try await WorkerSettings(
      flags, environment: ["XDG_STATE_HOME": "/data"].merging(environment) { $1 }, hostName: "desk", cores: 4
    ).configuration
  }

  /// The text of `Config/worker.yaml`, with every key that it explains uncommented.
  static func everyKey() throws -> String {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../Config/worker.yaml")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
      line.firstMatch(of: /^# ((?:  )?[a-zA-Z]+:(?: .*)?)$/).map { String($0.1) }
    }.joined(separator: "\n")
  }

  @Test("the shipped file explains every key there is, with a value that is taken")
  func shipped() async throws {
    let yaml = try Self.everyKey()
    let configuration = try await Self.read(yaml)
    #expect(configuration.labels == ["zone": "garage", "disk": "fast"])
    #expect(configuration.conditions.facts?.command == ["/usr/local/bin/host-facts"])
    for key in WorkerSettings.keys {
      let name = key.split(separator: ".").last!
      #expect(
        yaml.contains(/(^|[\n {,])(?<name>\w+):/) && yaml.contains("\(name):"), "\(key) is not in Config/worker.yaml")
    }
  }

  @Test("the defaults that the shipped file names are the ones that hold")
  func defaults() async throws {
    let (written, plain) = (try await Self.read(Self.everyKey()).conditions, ConditionSettings())
    #expect(written.probes == plain.probes && written.root == plain.root)
    #expect(written.treatUnknownAs == plain.treatUnknownAs && written.returnAfter == plain.returnAfter)
    #expect(written.thermal == plain.thermal && written.idle == plain.idle && written.gpu == plain.gpu)
    #expect(written.networkLostAfter == plain.networkLostAfter)
    #expect(written.facts?.every == FactsSettings(command: []).every)
    #expect(written.network.requireDefaultRoute == plain.network.requireDefaultRoute)
    #expect(written.network.reachability == ReachabilitySettings(target: "10.0.0.1:443"))
  }

  @Test(
    "a wrong value says which key it is and what it may be",
    arguments: [
      ("probes: [power, gravity]", "probes", "gravity"),
      ("treatUnknownAs: {idle: maybe}", "treatUnknownAs.idle", "automatic"),
      ("treatUnknownAs: {thermal: warm}", "treatUnknownAs.thermal", "serious"),
      ("hours: [\"25:00-26:00\"]", "hours", "25:00"), ("cpuLimit: fast", "cpuLimit", "150%"),
      ("returnAfter: {power: soon}", "returnAfter.power", "soon"), ("idle: {otherLoad: 200}", "idle.otherLoad", "200"),
      ("labels: {\"a b\": c}", "labels", "a b"), ("labels: {zone: [1]}", "labels", "plain"),
      ("network: {reachability: {target: nowhere}}", "network.reachability.target", "HOST:PORT"),
      ("facts: {every: 5s}", "facts.every", "facts.command"),
      ("facts: {command: [x], every: 1ms}", "facts.every", "1s"),
      ("ups: [\"--help\"]", "ups", "NAME@HOST"), ("idel: {after: 3m}", "idel", "idle"),
      ("idle: {afte: 3m}", "idle.afte", "idle.after"), ("idle: {ignore: [dogs]}", "idle.ignore", "terminal"),
      ("labels: zone", "labels", "NAME=VALUE"),
      ("network: {reachability: {every: 5s}}", "network.reachability.every", "target"),
      ("idle: {loadWindow: 0s}", "idle.loadWindow", "1s"), ("accepts: everything", "accepts", "everything"),
      ("network: {requireDefaultRoute: 3}", "network.requireDefaultRoute", "true or false"),
      ("sandbox: {require: strong}", "sandbox.require", "none, basic, strict"),
      ("allow: {commands: [ffmpeg]}", "allow.commands", "absolute path"),
      ("allow: {comands: []}", "allow.comands", "allow.commands"),
      ("allow: {directories: [/srv/../etc]}", "allow.directories", "'..'"),
      ("allow: {network: maybe}", "allow.network", "true or false"),
      ("allow: {users: [root]}", "allow.users", "not root"), ("allow: {users: [\"a b\"]}", "allow.users", "a b"),
      ("allow: {principals: [\"\"]}", "allow.principals", "255 bytes"),
      ("allow: {secrets: {/etc/shadow: com.example.a}}", "allow.secrets", "/etc/shadow"),
      ("allow: {secrets: {../token: com.example.a}}", "allow.secrets", "'..'"),
      ("allow: {secrets: {\"db/*\": com.example.*.a}}", "allow.secrets", "com.example.*.a"),
      ("allow: {secrets: {\"db/*\": \"\"}}", "allow.secrets", "no identifiers"),
      ("allow: {secrets: {\"db/*\": [a, b]}}", "allow.secrets", "plain values"),
      ("allow: {secrets: [\"db/*\"]}", "allow.secrets", "NAME=VALUE"),
      ("secrets: {folder: secrets}", "secrets.folder", "absolute path"),
    ])
  func mistakes(yaml: String, key: String, says: String) async throws {
    let error = try await #require(throws: SettingsError.self) { _ = try await Self.read(yaml) }
    #expect(error.message.contains(key))
    #expect(error.message.contains(says))
  }

  @Test("everything that is wrong is told at once, each with its line and column, or with its variable")
  func allAtOnce() async throws {
    let yaml = """
      slots: many
      idel: {after: 3m}
      idle:
        after: 10 min
        otherLoad: 200
        afte: 1m
      hours: ["25:00-26:00"]
      labels:
        zone: [1]
        "a b": c
      accepts: [processing, everything, nothing]
      cpuLimit: {a: b}
      name: two words
      coordinator: nowhere
      """
    let error = try await #require(throws: SettingsError.self) {
      _ = try await Self.read(yaml, environment: ["BATON_RETURN_AFTER_POWER": "soon", "BATON_SLOTS": "none"])
    }
    let problems = error.problems.map { $0.replacing(/^.*\/worker-[^:]*\.yaml:/, with: "") }
    let expected = [
      "the environment variable BATON_SLOTS: 'slots': must be a number from 1 to 100000, not 'none'",
      "the environment variable BATON_RETURN_AFTER_POWER: 'returnAfter.power': ",
      "2:1: error: unknown key 'idel', did you mean 'idle'?", "4:10: error: 'idle.after': ",
      "5:14: error: 'idle.otherLoad': must be a number from 1 to 100, not '200'",
      "6:3: error: unknown key 'idle.afte', did you mean 'idle.after'?", "7:8: error: 'hours': '25:00-26:00'",
      "9:3: error: 'labels': 'a b' cannot be a label",
      "9:9: error: 'labels' must be a mapping of names to plain values",
      "11:10: error: 'accepts': 'everything' is not a kind", "11:10: error: 'accepts': 'nothing' is not a kind",
      "12:11: error: 'cpuLimit': must be one plain value, not a list or a mapping",
      "13:7: error: 'name': 'two words' cannot be a host's name", "14:14: error: 'coordinator': 'nowhere'",
    ]
    #expect(problems.count == expected.count, "\(error.message)")
    for (problem, start) in zip(problems, expected) { #expect(problem.hasPrefix(start)) }
    #expect(error.message.hasPrefix("\(expected.count) settings are wrong:\n  the environment variable"))
  }

  @Test("what commands may do: by default the sandbox, every program, and nothing as root")
  func confinement() async throws {
    let usual = try await Self.read("").sandbox
    #expect(usual.required == .basic)
    #expect(usual.permissions(user: 1000) == CommandPermissions())
    #expect(usual.permissions(user: 0) == CommandPermissions(runsCommands: false, users: []))
    let set = try await Self.read(
      "sandbox: {require: none}\nallow: {commands: [/usr/bin/ffmpeg, \"/opt/**\"], directories: /srv, network: false, root: true}"
    ).sandbox
    #expect(set.required == nil)
    #expect(
      set.permissions(user: 0)
        == CommandPermissions(
          commands: ["/usr/bin/ffmpeg", "/opt/**"].compactMap { PathPattern($0) },
          directories: [PathPattern("/srv")!], network: false, users: []))
    #expect(try await Self.read("", environment: ["BATON_SANDBOX_REQUIRE": "none"]).sandbox.required == nil)
    #expect(try await Self.read("", environment: ["BATON_ALLOW_ROOT": "true"]).sandbox.allowsRoot)
  }

  @Test("as which users commands may run, which only root can do, and whose requests run here")
  func people() async throws {
    let set = try await Self.read(
      "sandbox: {require: strict}\nallow: {users: [batonjob, a.b], principals: [alice, \"ci-*\"]}"
    ).sandbox
    #expect(set.required == .strict)
    #expect(set.permissions(user: 0).users == ["batonjob", "a.b"])
    #expect(set.permissions(user: 1000).users == nil)
    #expect(set.permissions(user: 1000).principals == ["alice", "ci-*"].compactMap { PrincipalPattern($0) })
    let variables = ["BATON_ALLOW_USERS": "batonjob", "BATON_ALLOW_PRINCIPALS": "alice,bob"]
    let environment = try await Self.read("", environment: variables).sandbox
    #expect(environment.users == ["batonjob"] && environment.principals?.count == 2)
    #expect(try await Self.read("allow: {principals: []}").sandbox.principals == [])
  }

  @Test("which jobs may use which secrets: none by default, and where the secrets are")
  func secrets() async throws {
    let usual = try await Self.read("").sandbox
    #expect(usual.permissions(user: 1000).secrets == nil)
    #expect(usual.secretFolder == SecretFolder(path: "/etc/baton/secrets"))
    let set = try await Self.read(
      "allow: {secrets: {\"db/*\": com.example.db.*, api/token: com.example.b com.example.c.*}}\nsecrets: {folder: /srv/s}",
      environment: ["CREDENTIALS_DIRECTORY": "/run/credentials/baton-worker.service"]
    ).sandbox
    func permission(_ files: String, _ identifiers: String...) -> SecretPermission {
      SecretPermission(files: SecretPattern(files)!, identifiers: identifiers.compactMap { IdentifierPattern($0) })
    }
    let permissions = [
      permission("api/token", "com.example.b", "com.example.c.*"), permission("db/*", "com.example.db.*"),
    ]
    #expect(set.permissions(user: 1000).secrets == permissions)
    #expect(set.secretFolder == SecretFolder(path: "/srv/s", credentials: "/run/credentials/baton-worker.service"))
    let variables = ["BATON_ALLOW_SECRETS": "db/*=com.example.db.*", "BATON_SECRETS_FOLDER": "/srv/t"]
    let environment = try await Self.read("", environment: variables).sandbox
    #expect(environment.secrets == [permissions[1]] && environment.secretFolder.path == "/srv/t")
    var without = set
    without.helper = nil
    #expect(without.permissions(user: 1000).secrets == nil, "without baton-exec no command gets a descriptor")
  }

  @Test("an empty list allows nothing: it is never taken for a key that is not there")
  func emptyList() async throws {
    #expect(try await Self.read("allow: {commands: [], directories: []}").sandbox.commands == [])
  }

  @Test("one plain value is a list of one: what the owner permits is never ignored")
  func single() async throws {
    let configuration = try await Self.read(
      "accepts: processing\npermittedIdentifiers: com.example.photos.*\nnetwork: {metered: \"wwan*\"}\nfacts: {command: /bin/facts}"
    )
    #expect(configuration.accepts == [.processing])
    #expect(configuration.permittedIdentifiers.map(\.rawValue) == ["com.example.photos.*"])
    #expect(configuration.conditions.network.metered == ["wwan*"])
    #expect(configuration.conditions.facts?.command == ["/bin/facts"])
  }

  @Test(
    "one coordinator or several, as a text, as a list, or in the environment",
    arguments: [
      ("", [:], "127.0.0.1:7420"), ("coordinator: localhost:7420", [:], "localhost:7420"),
      ("coordinator: 127.0.0.1:7420,127.0.0.1:7430", [:], "127.0.0.1:7420,127.0.0.1:7430"),
      ("coordinator: [\"127.0.0.1:7420\", \"[::1]:7430\"]", [:], "127.0.0.1:7420,[::1]:7430"),
      ("coordinator:\n  - 127.0.0.1:7420\n  - 127.0.0.1:7430", [:], "127.0.0.1:7420,127.0.0.1:7430"),
      (
        "coordinator: [nowhere]", ["BATON_COORDINATOR": "127.0.0.1:7420,127.0.0.1:7430"],
        "127.0.0.1:7420,127.0.0.1:7430"
      ),
    ] as [(String, [String: String], String)])
  func coordinators(yaml: String, environment: [String: String], expected: String) async throws {
    #expect(try await Self.read(yaml, environment: environment).coordinator == expected)
  }

  private static let seventeen = (1...17).map { "127.0.0.1:\($0)" }.joined(separator: ",")

  @Test(
    "a wrong address of a coordinator is told with its place, and with what to do",
    arguments: [
      ("coordinator: nowhere", "1:14: error: 'coordinator': 'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"),
      (
        "coordinator: 127.0.0.1:7420,nowhere",
        "1:14: error: 'coordinator': 'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"
      ),
      (
        "coordinator: [\"127.0.0.1:7420\", \"nowhere\"]",
        "1:14: error: 'coordinator': 'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"
      ),
      (
        "coordinator: [\"127.0.0.1:7420\", \"127.0.0.1:7420\"]",
        "1:14: error: 'coordinator': '127.0.0.1:7420' is the same address as '127.0.0.1:7420', which is before it: "
          + "remove one of the two"
      ),
      (
        "coordinator: 127.0.0.1:7420,",
        "1:14: error: 'coordinator': address 2 of 2 is empty: write HOST:PORT there, such as 127.0.0.1:7420, or remove "
          + "a comma"
      ),
      (
        "coordinator: \(seventeen)",
        "1:14: error: 'coordinator': there are 17 addresses, and at most 16 are allowed: remove the others"
      ),
      ("coordinator: {a: b}", "1:14: error: 'coordinator': must be a text, or a list of texts"),
      ("coordinator: [1, 2]", "1:14: error: 'coordinator': '1' is not HOST:PORT, such as 127.0.0.1:7420"),
    ])
  func wrongCoordinators(yaml: String, expected: String) async throws {
    let error = try await #require(throws: SettingsError.self) { _ = try await Self.read(yaml) }
    #expect(error.problems.map { $0.replacing(/^.*\/worker-[^:]*\.yaml:/, with: "") } == [expected])
  }

  @Test(
    "a wrong address in the variable or in the flag is told with the name of the variable or the flag",
    arguments: ["127.0.0.1:7420,nowhere"])
  func wrongElsewhere(text: String) async throws {
    let mistake = "'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"
    let variable = try await #require(throws: SettingsError.self) {
      _ = try await Self.read("", environment: ["BATON_COORDINATOR": text])
    }
    #expect(variable.message == "the environment variable BATON_COORDINATOR: 'coordinator': \(mistake)")
    var flags = WorkerSettings.Flags()
    flags.coordinator = text
    let flag = try await #require(throws: SettingsError.self) {
      _ = try await WorkerSettings(flags, environment: ["XDG_STATE_HOME": "/data"], hostName: "desk", cores: 4)
    }
    #expect(flag.message == "--coordinator: \(mistake)")
  }

  @Test("the environment says the same, and beats the file")
  func environment() async throws {
    let configuration = try await Self.read(
      "idle: {after: 3m}\nlabels: {zone: attic}\nups: none",
      environment: [
        "BATON_IDLE_AFTER": "1m", "BATON_LABELS": "zone=garage,disk=fast", "BATON_PROBES": "power,gpu",
        "BATON_NETWORK_METERED": "wwan0,usb*", "BATON_CPU_LIMIT": "50%", "BATON_HOURS": "22:00-07:00",
      ])
    #expect(configuration.conditions.idle.after == .seconds(60))
    #expect(configuration.labels == ["zone": "garage", "disk": "fast"])
    #expect(configuration.conditions.probes == [.power, .gpu])
    #expect(configuration.conditions.network.metered == ["wwan0", "usb*"])
    #expect(configuration.conditions.ups.watched == .none)
    #expect(configuration.cpuLimit == CPUQuota(percent: 50))
    let dates = (0..<24).map { Timestamp(nanoseconds: Int64($0) * 3_600_000_000_000) }
    #expect(dates.contains { configuration.hours.word(at: $0) != nil })
    #expect(try await Self.read("", environment: ["BATON_PROBES": "none"]).conditions.probes.isEmpty)
  }
}

extension WorkerConfiguration {
  fileprivate var labels: [String: String] { conditions.labels }
}
