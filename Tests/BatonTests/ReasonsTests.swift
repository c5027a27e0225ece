import BatonCommands
import BatonCoordinator
import BatonModel
import ContractRows
import Foundation
import Testing

/// The page of all reasons, and that it is about all of them.
@Suite struct ReasonsTests {
  @Test func `the page says what the types say`() throws {
    try Golden.expect(ReasonsPage.text, at: Golden.root + "/Documentation/reasons.md")
  }

  @Test(arguments: ObstacleName.allCases) func `an obstacle is known by its code`(name: ObstacleName) {
    #expect(name.sample.name == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.meaning)
    expectPhrase(name.sample.text)
    expectPhrase(name.sample.remedy)
  }

  @Test(arguments: ExpiryReasonName.allCases) func `an expiry reason is known by its code`(name: ExpiryReasonName) {
    #expect(name.sample.name == name)
    #expect(name.sample.code == name.rawValue)
    #expect(ExpiryReason(code: name.rawValue, detail: name.sample.detail) == name.sample)
    expectProse(name.meaning)
    expectPhrase(name.remedy)
  }

  @Test(.contract(5.1, 5.2), arguments: RefusalName.allCases) func `a refusal has one code everywhere`(
    name: RefusalName
  ) async {
    #expect(name.sample.name == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.meaning)
    expectPhrase(name.remedy)
    let run = await World { $0.errors = [OperatorError.refused(name.sample)] }.baton("hosts")
    #expect(run.status == name.exitStatus)
    #expect(run.error.hasPrefix("error: \(name.rawValue): "))
  }

  @Test(.contract(30.1), arguments: LaunchOutcomeName.allCases)
  func `an outcome is known by its code`(name: LaunchOutcomeName) {
    #expect(name.sample.name == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.meaning)
    expectProse(name.consequence)
  }

  /// The reasons that policy gives when conditions change under a launch, beside the obstacle it gives then.
  @Test(arguments: [
    ConditionOverrides(power: .battery), ConditionOverrides(power: .battery, battery: 15),
    ConditionOverrides(network: .unavailable), ConditionOverrides(network: .metered),
    ConditionOverrides(isIdle: false), ConditionOverrides(lowPowerMode: true), ConditionOverrides(thermal: .critical),
  ])
  func `an obstacle names the expiry that policy gives for the same conditions`(overrides: ConditionOverrides) throws {
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.report"), kind: .processing)
    definition.work = Work(command: ["true"])
    definition.requirements = Requirements(
      externalPower: overrides.battery == nil, network: .unmetered, requiresIdle: true)
    let conditions = overrides.applied(to: .assumed)
    let host = Host(name: HostName("alpha"), capabilities: Capabilities(slots: 1), conditions: conditions)
    let obstacle = try #require(Policy.obstacles(for: definition, on: host).first)
    let expiry = try #require(Policy.expiry(of: definition, under: conditions))
    #expect(expiry.name == .simulated)
    #expect(obstacle.name.expiry?.rawValue == expiry.detail)
  }

  @Test func `every event that is noted anywhere is on the page`() throws {
    var noted: Set<String> = []
    for module in ["BatonStore", "BatonCoordinator"] {
      for source in try sources(of: module) {
        for call in source.matches(of: /\bnote\(([^()]*?)\bdetail:/) {
          noted.formUnion(call.output.1.matches(of: /"([A-Za-z]+)"/).map { String($0.output.1) })
        }
      }
    }
    #expect(noted == Set(RequestEventName.allCases.map(\.rawValue)))
  }

  private func sources(of module: String) throws -> [String] {
    let folder = "\(Golden.root)/Sources/\(module)"
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
    return try files.map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
  }

  // MARK: Style

  /// Sentences, for a cell of a Markdown table.
  private func expectProse(_ text: String) {
    #expect(text.hasSuffix("."))
    #expect(text.first.map { $0.isUppercase || $0 == "`" } == true)
    #expect(!text.contains("|") && !text.contains("\n"))
  }

  /// Part of a sentence, for a line that goes on.
  private func expectPhrase(_ text: String) {
    #expect(!text.isEmpty && !text.hasSuffix("."))
    #expect(text.first.map { $0.isLowercase || $0.isNumber } == true)
    #expect(!text.contains("|") && !text.contains("\n"))
  }
}
