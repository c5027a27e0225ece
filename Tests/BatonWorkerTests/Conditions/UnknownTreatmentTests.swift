import BatonHost
import BatonModel
import ContractRows
import Testing

/// The conditions that a worker assumes for a host on which nothing was read.
@Suite struct UnknownTreatmentTests {
  private func conditions(_ change: (inout UnknownTreatment) -> Void = { _ in }) -> Conditions {
    var settings = ConditionSettings()
    change(&settings.treatUnknownAs)
    var core = ConditionsCore(settings)
    return core.conditions(at: Instant(nanoseconds: 0))
  }

  @Test(.contract(21.3)) func `nothing known means power, a network, no heat, no GPU and nobody there`() {
    let assumed = conditions()
    #expect(assumed.power.value == .external && assumed.network.value == .unmetered)
    #expect(assumed.thermal.value == .nominal && assumed.isIdle.value == true)
    #expect((assumed.gpus.value ?? []).isEmpty)
  }

  @Test(.contract(21.4)) func `what counts where nobody knows is the owner's choice`() {
    #expect(conditions { $0.power = .battery }.power.value == .battery)
    #expect(conditions { $0.network = .unavailable }.network.value == .unavailable)
    #expect(conditions { $0.thermal = .serious }.thermal.value == .serious)
    #expect(conditions { $0.idle = .busy }.isIdle.value == false)
  }
}
