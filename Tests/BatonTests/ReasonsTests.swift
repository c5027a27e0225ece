import BatonCommands
import BatonCoordinator
import BatonModel
import ContractRows
import Foundation
import Testing

/// The page of all reasons has every reason.
@Suite struct ReasonsTests {
  @Test func `the page says what the types say`() throws {
    try Golden.expect(ReasonsPage.text, at: Golden.root + "/Documentation/reference/reasons.md")
  }

  @Test(arguments: Obstacle.Kind.allCases) func `an obstacle is known by its code`(name: Obstacle.Kind) {
    #expect(name.sample.kind == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.row.meaning)
    expectPhrase(name.sample.text)
    expectPhrase(name.sample.remedy)
  }

  @Test(arguments: ExpiryReason.Kind.allCases) func `an expiry reason is known by its code`(name: ExpiryReason.Kind) {
    #expect(name.sample.kind == name)
    #expect(name.sample.code == name.rawValue)
    #expect(ExpiryReason(code: name.rawValue, detail: name.sample.detail) == name.sample)
    expectProse(name.row.meaning)
    expectPhrase(name.row.remedy)
  }

  @Test(.contract(5.1, 5.2), arguments: Refusal.Kind.allCases) func `a refusal has one code everywhere`(
    name: Refusal.Kind
  ) async {
    #expect(name.sample.kind == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.meaning)
    expectPhrase(name.remedy)
    let run = await World { $0.errors = [OperatorError.refused(name.sample)] }.baton("hosts")
    #expect(run.status == name.exitStatus)
    #expect(run.error.hasPrefix("error: \(name.rawValue): "))
  }

  @Test(.contract(30.1), arguments: LaunchOutcome.Kind.allCases)
  func `an outcome is known by its code`(name: LaunchOutcome.Kind) {
    #expect(name.sample.kind == name)
    #expect(name.sample.code == name.rawValue)
    expectProse(name.meaning)
    expectProse(name.consequence)
  }

  /// The expiry reasons of the policy when conditions change under a launch, beside the obstacles under the
  /// same conditions.
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
    #expect(expiry.kind == .simulated)
    #expect(obstacle.kind.row.expiry?.rawValue == expiry.detail)
  }

  // MARK: Style

  /// Expects whole sentences that fit into a cell of a Markdown table.
  private func expectProse(_ text: String) {
    #expect(text.hasSuffix("."))
    #expect(text.first.map { $0.isUppercase || $0 == "`" } == true)
    #expect(!text.contains("|") && !text.contains("\n"))
  }

  /// Expects a part of a sentence, for a line that continues.
  private func expectPhrase(_ text: String) {
    #expect(!text.isEmpty && !text.hasSuffix("."))
    #expect(text.first.map { $0.isLowercase || $0.isNumber } == true)
    #expect(!text.contains("|") && !text.contains("\n"))
  }
}
