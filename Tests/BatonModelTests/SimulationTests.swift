import BatonModel
import ContractRows
import Testing

/// Simulated conditions and launches are marked as simulated, and count towards nothing (contract, row 43).
@Suite struct SimulationTests {
  @Test func `overrides take the place of what they name, say so, and leave the rest`() {
    let overrides = ConditionOverrides(
      power: .battery, battery: 7, lowPowerMode: true, thermal: .critical, network: .metered, isIdle: false)
    let conditions = overrides.applied(to: .assumed)
    #expect(conditions.power == Reading(.battery, source: "simulated"))
    #expect(conditions.battery == Reading(7, source: "simulated"))
    #expect(conditions.lowPowerMode == Reading(true, source: "simulated"))
    #expect(conditions.thermal == Reading(.critical, source: "simulated"))
    #expect(conditions.network == Reading(.metered, source: "simulated"))
    #expect(conditions.isIdle == Reading(false, source: "simulated"))
    #expect(conditions.gpus == Conditions.assumed.gpus)
    #expect(ConditionOverrides().applied(to: .assumed) == .assumed && ConditionOverrides().isEmpty)
    #expect(ConditionOverrides(isIdle: true).applied(to: .assumed).power == Conditions.assumed.power)
  }

  @Test(arguments: [
    (ConditionOverrides(power: .battery), ExpiryReason.Kind.powerLost),
    (ConditionOverrides(thermal: .serious), .thermal),
    (ConditionOverrides(network: .unavailable), .networkLost), (ConditionOverrides(lowPowerMode: true), .lowPowerMode),
    (ConditionOverrides(isIdle: false), .hostBusy), (ConditionOverrides(power: .battery, battery: 3), .powerLost),
  ])
  func `what simulated conditions stop expires as simulated`(overrides: ConditionOverrides, reason: ExpiryReason.Kind) {
    let job = Fixture.job(.processing) { definition in
      definition.requirements = Requirements(externalPower: true, network: .any, requiresIdle: true)
    }
    #expect(Policy.expiry(of: job, under: overrides.applied(to: .assumed)) == .simulated(as: reason))
  }

  @Test func `a simulated battery that is low stops what does not need power, as simulated`() {
    let job = Fixture.job(.refresh)
    var real = Conditions.assumed
    real.battery.value = 10
    #expect(
      Policy.expiry(of: job, under: ConditionOverrides(power: .battery).applied(to: real))
        == .simulated(as: .batteryLow))
  }

  @Test func `conditions stop no simulated launch, the owner's word does`() {
    let job = Fixture.job { $0.requirements.externalPower = true }
    var conditions = Fixture.conditions { $0.power.value = .battery }
    #expect(Policy.expiry(of: job, under: conditions) == .powerLost)
    #expect(Policy.expiry(of: job, under: conditions, isSimulated: true) == nil)
    conditions.owner = .paused(by: "alex", until: nil)
    #expect(Policy.expiry(of: job, under: conditions, isSimulated: true) == .pausedByOwner)
    let host = Fixture.host { $0.conditions = conditions }
    #expect(Policy.obstaclesOfSimulatedLaunch(for: job, on: host) == [.hostPausedByOwner(until: nil)])
    #expect(Policy.obstaclesOfSimulatedLaunch(for: job, on: Fixture.host { $0.hasLease = false }) == [.hostGone])
  }

  @Test func `an obstacle of the conditions names who says so`() {
    let conditions = Fixture.conditions { $0.power = Reading(.battery, source: "sysfs", raw: "Discharging") }
    #expect(Policy.evidence(of: .needsExternalPower, in: conditions)?.raw == "Discharging")
    #expect(Policy.evidence(of: .tooHot(.fair), in: conditions)?.source == "assumed")
    #expect(Policy.evidence(of: .slotsInUse(needed: 1, free: 0), in: conditions) == nil)
  }
}
