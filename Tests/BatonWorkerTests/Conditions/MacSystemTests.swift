import BatonHost
import BatonModel
import BatonProcess
import Testing

@Suite("A Mac, by what its commands print")
struct MacSystemTests {
  static let laptop = SystemCommand { arguments, _ in
    switch arguments.joined(separator: " ") {
    case "pmset -g batt":
      .output(
        "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t64%; discharging; 3:53 remaining present: true\n"
      )
    case "pmset -g":
      .output("System-wide power settings:\nCurrently in use:\n lowpowermode         1\n sleep                1\n")
    case "pmset -g therm": .output("Note: No thermal warning level has been recorded\n")
    case "ioreg -c IOHIDSystem": .output("    | |   \"HIDIdleTime\" = 12000000000\n")
    case "scutil --nwi": .output("Network information\n\nIPv4 network interface information\n   No IPv4 states found\n")
    default: .missing
    }
  }

  @Test("what a laptop on its battery, in use and without a network, says")
  func look() async {
    let seen = await MacSystem(ConditionSettings(), command: Self.laptop).look()
    #expect(seen.power?.power.value == .battery && seen.power?.battery.value == 64)
    #expect(seen.lowPowerModes.map(\.value) == [true])
    #expect(seen.thermal?.value == .nominal)
    #expect(seen.network?.value == .unavailable)
    guard case .known(let idle) = seen.idle else {
      Issue.record("idleness is unknown")
      return
    }
    #expect(idle.value == false && idle.source == "input")
  }

  @Test("what no command says is not said: no supply is invented")
  func silence() async {
    let seen = await MacSystem(ConditionSettings(), command: SystemCommand { _, _ in .missing }).look()
    #expect(seen.power == nil && seen.thermal == nil && seen.lowPowerModes.isEmpty)
    #expect(seen.network?.value == nil)
    #expect(seen.idle == .unknown(raw: "ioreg lists no use of input devices", looksUnused: false))
  }

  @Test("only what is to be probed is asked for")
  func chosen() async {
    var settings = ConditionSettings()
    settings.probes = [.power]
    let seen = await MacSystem(settings, command: Self.laptop).look()
    #expect(seen.power != nil && seen.thermal == nil && seen.network == nil && seen.idle == nil)
  }
}
