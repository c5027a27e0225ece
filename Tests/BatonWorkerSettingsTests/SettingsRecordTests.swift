import BatonSettings
import Foundation
import Testing

/// A list of mappings in a settings file, beside plain values.
@Suite struct SettingsRecordTests {
  private static let fields = ["prefix", "weight", "quotas.slots", "quotas.dailyAllowance"]

  private func read(
    _ text: String, _ environment: [String: String] = [:],
    _ body: (Settings, [SettingsRecord]) throws -> Void
  ) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let settings = try await Settings(
      file: path, environment: environment, keys: ["http", "limits.pending", "names", "list", "isOn", "teams"],
      records: ["teams"])
    try body(settings, settings.records("teams", fields: Self.fields))
  }

  @Test func `the values beside a list of mappings are read as in a file without one`() async throws {
    let text = """
      http: off
      limits: {pending: 15}
      teams:
        - prefix: com.a
          weight: 3
          quotas: {slots: 4, dailyAllowance: 2h}
        - {prefix: com.b}
      names: {zone: garage}
      list: [a, "1"]
      isOn: true

      """
    try await read(text, ["BATON_LIMITS_PENDING": "16"]) { settings, records in
      #expect(settings.text("http") == "off" && settings.number("limits.pending", in: 1...99) == 16)
      #expect(settings.mapping("names") == ["zone": "garage"] && settings.list("list") == ["a", "1"])
      #expect(settings.flag("isOn") == true)
      #expect(records.map { $0["prefix"] } == ["com.a", "com.b"])
      #expect(settings.number("teams", records[0], "weight", in: 1...9) == 3)
      #expect(settings.number("teams", records[0], "quotas.slots", in: 1...9) == 4)
      #expect(settings.duration("teams", records[0], "quotas.dailyAllowance") == .seconds(7200))
      #expect(settings.number("teams", records[1], "weight", in: 1...9) == nil)
      try settings.finish()
    }
  }

  @Test func `what is wrong in a mapping is named with its line and column`() async throws {
    let text = """
      teams:
        - prefix: com.a
          wieght: 3
          weight: many
          quotas:
            slots: [1]
            dailyAllowance: soon
        - com.b

      """
    try await read(text) { settings, records in
      _ = settings.number("teams", records[0], "weight", in: 1...9)
      _ = settings.duration("teams", records[0], "quotas.dailyAllowance")
      let error = #expect(throws: SettingsError.self) { try settings.finish() }
      let problems = error?.problems ?? []
      #expect(problems.count == 5, "\(problems)")
      for (problem, wanted) in zip(
        problems,
        [
          ":3:13: error: 'teams': unknown key 'wieght', did you mean 'weight'?",
          ":4:13: error: 'teams': 'weight' must be a number from 1 to 9, not 'many'",
          ":6:14: error: 'teams': 'quotas.slots' must be one plain value",
          ":7:23: error: 'teams': 'quotas.dailyAllowance': ", ":8:5: error: 'teams': each element must be a mapping",
        ])
      {
        #expect(problem.contains(wanted), "\(problem)")
      }
    }
  }

  @Test func `only the file has a list of mappings`() async throws {
    try await read("http: off\n", ["BATON_TEAMS": "a"]) { settings, records in
      #expect(records.isEmpty)
      let error = #expect(throws: SettingsError.self) { try settings.finish() }
      #expect(error?.message.contains("BATON_TEAMS") == true)
    }
    try await read("teams: {prefix: com.a}\n") { settings, _ in
      #expect(throws: SettingsError.self) { try settings.finish() }
    }
  }
}
