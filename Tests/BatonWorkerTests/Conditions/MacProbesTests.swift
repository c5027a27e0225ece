import BatonHost
import BatonModel
import ContractRows
import Testing

@Suite("What macOS prints, by recorded output")
struct MacProbesTests {
  @Test(
    "pmset -g batt says what feeds the Mac and how full its battery is", arguments: MacOutputs.batteries)
  func power(output: String, power: PowerSource?, battery: Int?) {
    let readings = MacProbes.power(fromBatteryListing: output)
    #expect(readings.power.value == power)
    #expect(readings.battery.value == battery)
    #expect(readings.power.source == "pmset")
  }

  @Test("pmset -g says whether Low Power Mode is on, if there is one", arguments: MacOutputs.settings)
  func lowPowerMode(output: String, isLow: Bool?) {
    #expect(MacProbes.lowPowerMode(fromSettings: output)?.value == isLow)
  }

  @Test("pmset -g therm says how far the Mac is slowed down", arguments: MacOutputs.warnings)
  func thermal(output: String, state: ThermalState?) {
    #expect(MacProbes.thermal(fromWarnings: output).value == state)
  }

  @Test("ioreg says how long keyboard and pointer have been still", arguments: MacOutputs.registries)
  func idle(output: String, idle: Duration?) { #expect(MacProbes.inputIdleTime(fromRegistry: output) == idle) }

  @Test("scutil says whether the network is reachable", arguments: MacOutputs.information)
  func information(output: String, network: NetworkState?, raw: String) {
    #expect(MacProbes.network(fromInformation: output) == Reading(network, source: "scutil", raw: raw))
  }

  @Test("system_profiler lists the GPUs", arguments: MacOutputs.profiles)
  func gpus(output: String, gpus: [GPU]?) { #expect(MacProbes.gpus(fromProfile: output).value == gpus) }
}
