import BatonCoordinator
import BatonModel
import BatonSettings
import BatonStore
import Foundation
import Testing

@testable import BatonCommands
@testable import baton

/// How `coordinator.yaml` decides which request starts where: placement, waits and namespaces.
@Suite("coordinator.yaml")
struct CoordinatorSettingsTests {
  private static func read(_ yaml: String, _ environment: [String: String] = [:]) async throws -> CoordinatorSetup {
    let file = FileManager.default.temporaryDirectory.appending(path: "coordinator-\(UUID()).yaml").path
    try Data(yaml.utf8).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    var options = CoordinatorOptions()
    options.configurationFile = file
    return try await CoordinatorSetup(
      options, environment: ["XDG_STATE_HOME": "/data"].merging(environment) { $1 }, defaultFolder: "baton/coordinator")
  }

  /// Everything that is wrong in a file, without the path of the file.
  private static func problems(_ yaml: String, _ environment: [String: String] = [:]) async throws -> [String] {
    let error = try await #require(throws: SettingsError.self) { _ = try await read(yaml, environment) }
    return error.problems.map { $0.replacing(/^.*\/coordinator-[^:]*\.yaml:/, with: "") }
  }

  /// The lines of `Config/coordinator.yaml` from one on up to another one, uncommented.
  private static func shipped(from first: String, to last: String) throws -> String {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/coordinator.yaml")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    let begin = try #require(lines.firstIndex(of: "# " + first))
    let end = try #require(lines[begin...].firstIndex(of: "# " + last))
    return lines[begin...end].map { String($0.dropFirst(2)) }.joined(separator: "\n")
  }

  @Test("without a word of the file the defaults hold, and they are those that the shipped file names")
  func defaults() async throws {
    let plain = try await Self.read("")
    #expect(plain.settings.rules == DispatchRules() && plain.limits.namespaces == Namespaces())
    let yaml = try ["placement: pack", "  ageAfter: 1h", "  reserveAfter: 60s", "  useHalfLife: 1h"].map {
      try Self.shipped(from: $0, to: $0)
    }
    let written = try await Self.read(yaml[0] + "\nlimits:\n" + yaml[1...].joined(separator: "\n"))
    #expect(written.settings.rules == DispatchRules())
  }

  @Test("placement and the times of waits reach the dispatcher, and the environment beats the file")
  func rules() async throws {
    var rules = DispatchRules()
    (rules.placement, rules.ageAfter, rules.reserveAfter) = (.spread, .seconds(1800), .seconds(300))
    rules.namespaces.useHalfLife = .seconds(7200)
    let yaml = """
      placement: spread
      limits:
        ageAfter: 30m
        reserveAfter: 5m
        useHalfLife: 2h
      """
    #expect(try await Self.read(yaml).settings.rules == rules)
    let environment = [
      "BATON_PLACEMENT": "pack", "BATON_LIMITS_AGE_AFTER": "10m", "BATON_LIMITS_RESERVE_AFTER": "20s",
      "BATON_LIMITS_USE_HALF_LIFE": "90m",
    ]
    (rules.placement, rules.ageAfter, rules.reserveAfter) = (.pack, .seconds(600), .seconds(20))
    rules.namespaces.useHalfLife = .seconds(5400)
    let setup = try await Self.read(yaml, environment)
    #expect(setup.settings.rules == rules && setup.limits.namespaces == rules.namespaces)
  }

  @Test("0s switches off that priorities rise, and that hosts are reserved")
  func zero() async throws {
    let rules = try await Self.read("limits: {ageAfter: 0s, reserveAfter: 0s}").settings.rules
    #expect(rules.ageAfter == nil && rules.reserveAfter == nil)
  }

  @Test("namespaces reach the dispatcher and the store, with owner, weight and quotas; what is left out is no limit")
  func namespaces() async throws {
    var quotas = Namespace.Quotas()
    (quotas.pending, quotas.running, quotas.slots, quotas.gpus) = (10_000, 200, 64, 4)
    quotas.dailyAllowance = .seconds(500 * 3600)
    let expected = Namespaces([
      Namespace("com.example.research", owner: PrincipalPattern("ada"), weight: 3, quotas: quotas),
      Namespace("com.example.web"),
    ])
    let yaml = try Self.shipped(from: "namespaces:", to: "  - prefix: com.example.web")
    let setup = try await Self.read(yaml)
    #expect(setup.settings.rules.namespaces == expected && setup.limits.namespaces == expected)
    let other = try await Self.read(
      """
      namespaces:
        - prefix: com.b
          owner: ci-*
          weight: 1000
          quotas: {pending: 0, running: 0, slots: 0, gpus: 0, dailyAllowance: 0s}
        - prefix: com.a
      limits: {useHalfLife: 30d}
      """
    ).settings.rules.namespaces
    (quotas.pending, quotas.running, quotas.slots, quotas.gpus, quotas.dailyAllowance) = (0, 0, 0, 0, .zero)
    #expect(other.all.map(\.prefix) == ["com.a", "com.b"], "in the order of the prefixes")
    #expect(other["com.b"] == Namespace("com.b", owner: PrincipalPattern("ci-*"), weight: 1000, quotas: quotas))
    #expect(other["com.a"] == Namespace("com.a") && other.useHalfLife == .seconds(30 * 86_400))
  }

  private static let durations = "a duration such as 500ms, 30s, 10m, 24h, 7d or 1h30m"

  @Test(
    "a wrong value says where it is and what it may be",
    arguments: [
      ("placement: heap", "1:12: error: 'placement': must be 'pack' or 'spread', not 'heap'"),
      ("placement: Pack", "1:12: error: 'placement': must be 'pack' or 'spread', not 'Pack'"),
      ("placement: [pack]", "1:12: error: 'placement': must be one plain value, not a list or a mapping"),
      ("limits:\n  ageAfter: soon", "2:13: error: 'limits.ageAfter': 'soon' is not \(durations)"),
      ("limits:\n  reserveAfter: -1s", "2:17: error: 'limits.reserveAfter': '-1s' is not \(durations)"),
      ("limits:\n  reserveAfter: {after: 1s}", "2:17: error: 'limits.reserveAfter': must be one plain value"),
      ("limits:\n  useHalfLife: half", "2:16: error: 'limits.useHalfLife': 'half' is not \(durations)"),
      ("limits:\n  useHalfLife: 59s", "2:16: error: 'limits.useHalfLife': must be from 1m to 30d"),
      ("limits:\n  useHalfLife: 31d", "2:16: error: 'limits.useHalfLife': must be from 1m to 30d"),
      ("limits:\n  agesAfter: 1h", "2:3: error: unknown key 'limits.agesAfter', did you mean 'limits.ageAfter'?"),
      ("namespaces: com.a", "1:13: error: 'namespaces' must be a list of mappings"),
      ("namespaces:\n  - com.a", "2:5: error: 'namespaces': each element must be a mapping"),
    ])
  func mistakes(yaml: String, problem: String) async throws {
    let found = try await Self.problems(yaml)
    #expect(found.first?.hasPrefix(problem) == true, "\(found)")
  }

  @Test("everything that is wrong in namespaces is told at once, each with its line and column")
  func namespaceMistakes() async throws {
    let yaml = """
      namespaces:
        - {weight: 2}
        - prefix: com.a.*
        - prefix: com..b
        - prefix: com.c
          owner: ""
          weight: 0
        - prefix: com.d
          weight: 1001
          owner: [ada, ben]
        - prefix: com.e
          quotas:
            pending: -1
            running: many
            slots: 10000001
            gpus: [1]
            dailyAllowance: often
            hosts: 3
        - prefix: com.c
      """
    #expect(
      try await Self.problems(yaml) == [
        "2:5: error: 'namespaces': needs 'prefix', such as com.example.team",
        "3:13: error: 'namespaces': 'com.a.*' must be written without '.*': com.a",
        "4:13: error: 'namespaces': 'com..b' is not the beginning of identifiers, such as com.example.team",
        "6:12: error: 'namespaces': 'owner' must be the name of a principal of at most 255 bytes, or a pattern such as "
          + "ci-*",
        "7:13: error: 'namespaces': 'weight' must be a number from 1 to 1000, not '0'",
        "9:13: error: 'namespaces': 'weight' must be a number from 1 to 1000, not '1001'",
        "10:12: error: 'namespaces': 'owner' must be one plain value",
        "13:16: error: 'namespaces': 'quotas.pending' must be a number from 0 to 100000000, not '-1'",
        "14:16: error: 'namespaces': 'quotas.running' must be a number from 0 to 1000000, not 'many'",
        "15:14: error: 'namespaces': 'quotas.slots' must be a number from 0 to 10000000, not '10000001'",
        "16:13: error: 'namespaces': 'quotas.gpus' must be one plain value",
        "17:23: error: 'namespaces': 'quotas.dailyAllowance': 'often' is not \(Self.durations)",
        "18:14: error: 'namespaces': unknown key 'quotas.hosts', did you mean 'quotas.slots'?",
        "19:13: error: 'namespaces': 'com.c' is in the list twice",
      ])
  }

  @Test("more namespaces than are accepted, and namespaces outside of the file, are refused")
  func tooMany() async throws {
    let lines = (0..<Namespaces.limit).map { "  - prefix: com.n\($0)\n" }.joined()
    #expect(try await Self.read("namespaces:\n" + lines).settings.rules.namespaces.all.count == Namespaces.limit)
    #expect(
      try await Self.problems("namespaces:\n" + lines + "  - prefix: com.more\n") == [
        "2:3: error: 'namespaces': has 257 elements; at most 256 are accepted"
      ])
    #expect(
      try await Self.problems("", ["BATON_NAMESPACES": "com.a"]) == [
        "the environment variable BATON_NAMESPACES: 'namespaces': is a list of mappings, which only the file can have"
      ])
    #expect(
      try await Self.problems("", ["BATON_PLACEMENT": "heap"]) == [
        "the environment variable BATON_PLACEMENT: 'placement': must be 'pack' or 'spread', not 'heap'"
      ])
  }
}
