import BatonModel
import BatonProcess
import ContractRows
import Synchronization
import Testing

@testable import BatonHost

/// Commands that give the test's answers, and record the arguments with which they were started.
final class ScriptedCommand: Sendable {
  private let state = Mutex<(answers: [String: SystemCommand.Answer], asked: [String])>(([:], []))

  init(_ answers: [String: SystemCommand.Answer] = [:]) { state.withLock { $0.answers = answers } }

  /// The answer of the command with these arguments, joined by spaces. A command without an answer is missing.
  subscript(_ arguments: String) -> SystemCommand.Answer {
    get { state.withLock { $0.answers[arguments] ?? .missing } }
    set { state.withLock { $0.answers[arguments] = newValue } }
  }

  /// The commands that were started since the last call of this method, in order.
  func takeAsked() -> [String] {
    state.withLock { state in
      defer { state.asked = [] }
      return state.asked
    }
  }

  var command: SystemCommand {
    SystemCommand { [self] arguments, _ in
      let line = arguments.joined(separator: " ")
      return state.withLock { state in
        state.asked.append(line)
        return state.answers[line] ?? .missing
      }
    }
  }
}

/// The output of `upsc` for a UPS, and the readings that it means.
struct UPSPrint: Sendable {
  var status: String
  var charge: String?
  var power: PowerSource?
  var battery: Int?

  var output: String {
    let charge = charge.map { "battery.charge: \($0)\n" } ?? ""
    return "\(charge)battery.charge.low: 10\ndevice.mfr: EATON\ndriver.name: usbhid-ups\nups.status: \(status)\n"
  }

  static let all = [
    UPSPrint(status: "OL", charge: "100", power: .external, battery: 100),
    UPSPrint(status: "OL CHRG", charge: "83", power: .external, battery: 83),
    UPSPrint(status: "OL TRIM", charge: "99.6", power: .external, battery: 99),
    UPSPrint(status: "OL BOOST ALARM", charge: nil, power: .external, battery: nil),
    UPSPrint(status: "OB DISCHRG", charge: "64", power: .battery, battery: 64),
    UPSPrint(status: "ALARM OB DISCHRG RB", charge: "64", power: .battery, battery: 64),
    UPSPrint(status: "OB LB", charge: "45", power: .battery, battery: 19),
    UPSPrint(status: "OB LB", charge: "12", power: .battery, battery: 12),
    UPSPrint(status: "OB LB", charge: nil, power: .battery, battery: 19),
    UPSPrint(status: "FSD OB LB", charge: "30", power: .battery, battery: 19),
    UPSPrint(status: "FSD OL", charge: "100", power: .battery, battery: 19),
    UPSPrint(status: "OL OB", charge: "50", power: .battery, battery: 50),
    UPSPrint(status: "OL CAL DISCHRG", charge: "70", power: .external, battery: 70),
    UPSPrint(status: "BYPASS", charge: "70", power: nil, battery: 70),
    UPSPrint(status: "OFF", charge: "70", power: nil, battery: 70),
    UPSPrint(status: "OLD OBX", charge: "70", power: nil, battery: 70),
    UPSPrint(status: "OL", charge: "150", power: .external, battery: nil),
    UPSPrint(status: "OL", charge: "-3", power: .external, battery: nil),
    UPSPrint(status: "OL", charge: "nan", power: .external, battery: nil),
    UPSPrint(status: "OL\r", charge: "77\r", power: .external, battery: 77),
  ]
}

@Suite("Power by a UPS that Network UPS Tools watch")
struct UPSProbeTests {
  private let start = Instant(nanoseconds: 0)

  @Test("what upsc prints is read for what it means", arguments: UPSPrint.all)
  func prints(_ print: UPSPrint) {
    let readings = UPSStatus(print.output).readings(of: "rack")
    #expect(readings.power.value == print.power)
    #expect(readings.battery.value == print.battery)
    #expect(readings.power.source == "nut" && readings.power.raw.hasPrefix("rack "))
  }

  @Test("output that is no UPS's is unknown", arguments: ["", "\n\n", "hello", "Error: Unknown UPS", "ups.load: 3"])
  func nonsense(_ output: String) {
    let readings = UPSStatus(output).readings(of: "rack")
    #expect(readings.power == Reading(nil, source: "nut", raw: "rack: no ups.status"))
    #expect(readings.battery.value == nil)
  }

  @Test("auto asks this host's upsd for its list, again every minute")
  func list() async {
    let script = ScriptedCommand([
      "upsc -l localhost": .output("rack\n"), "upsc rack@localhost": .output("ups.status: OL\n"),
      "upsc shed@localhost": .output("ups.status: OB\n"),
    ])
    var probe = UPSProbe(command: script.command)
    #expect(await probe.read(at: start)?.power.value == .external)
    #expect(script.takeAsked() == ["upsc -l localhost", "upsc rack@localhost"])
    script["upsc -l localhost"] = .output("rack\nshed\n")
    #expect(await probe.read(at: start + .seconds(59))?.power.value == .external)
    #expect(script.takeAsked() == ["upsc rack@localhost"])
    let readings = await probe.read(at: start + .seconds(60))
    #expect(readings?.power == Reading(.battery, source: "nut", raw: "rack@localhost OL; shed@localhost OB"))
  }

  @Test(
    "a host without upsc, without upsd, or whose upsd has no UPS, has none",
    arguments: [
      .missing, .failed("/usr/bin/upsc ended with exited(1): Error: Connection failure: Connection refused"),
      .output("\n"), .failed("upsc did not end within 2.0 seconds"),
    ] as [SystemCommand.Answer])
  func absent(_ answer: SystemCommand.Answer) async {
    let script = ScriptedCommand(["upsc -l localhost": answer])
    var probe = UPSProbe(command: script.command)
    #expect(await probe.read(at: start) == nil)
    #expect(await probe.read(at: start + .seconds(1)) == nil)
    #expect(script.takeAsked().count == 1)
  }

  @Test("none starts nothing")
  func none() async {
    let script = ScriptedCommand(["upsc -l localhost": .output("rack")])
    var probe = UPSProbe(UPSSettings(watched: .none), command: script.command)
    #expect(await probe.read(at: start) == nil)
    #expect(script.takeAsked().isEmpty)
  }

  @Test(
    "a UPS that was seen and does not answer is unknown, never none",
    arguments: [
      (.failed("/bin/upsc ended with exited(1): Error: Data stale"), "rack@localhost: Data stale"),
      (.failed("/bin/upsc ended with exited(1): Error: Driver not connected"), "rack@localhost: Driver not connected"),
      (
        .failed("/bin/upsc ended with exited(1): Error: Connection failure: Connection refused"),
        "rack@localhost: Connection failure: Connection refused"
      ), (.failed("upsc did not end within 2.0 seconds"), "rack@localhost: upsc did not end within 2.0 seconds"),
      (.missing, "rack@localhost: upsc can no longer be found"),
    ] as [(SystemCommand.Answer, String)])
  func lost(_ answer: SystemCommand.Answer, raw: String) async {
    let script = ScriptedCommand([
      "upsc -l localhost": .output("rack"), "upsc rack@localhost": .output("ups.status: OL\nbattery.charge: 90"),
    ])
    var probe = UPSProbe(command: script.command)
    #expect(await probe.read(at: start)?.battery.value == 90)
    script["upsc rack@localhost"] = answer
    script["upsc -l localhost"] = answer
    let unknown = PowerReadings(
      power: Reading(nil, source: "nut", raw: raw), battery: Reading(nil, source: "nut", raw: raw))
    #expect(await probe.read(at: start + .seconds(1)) == unknown)
    #expect(await probe.read(at: start + .seconds(120)) == unknown)
  }

  @Test("a UPS that upsd lists and whose driver never answered is unknown; one that it lists no more is gone")
  func listing() async {
    let script = ScriptedCommand([
      "upsc -l localhost": .output("rack"),
      "upsc rack@localhost": .failed("upsc ended with exited(1): Error: Driver not connected"),
    ])
    var probe = UPSProbe(command: script.command)
    #expect(
      await probe.read(at: start)?.power == Reading(nil, source: "nut", raw: "rack@localhost: Driver not connected"))
    script["upsc -l localhost"] = .output("")
    #expect(await probe.read(at: start + .seconds(60)) == nil)
  }

  @Test("named UPSes are asked where they are; one that does not answer is unknown from the start")
  func named() async {
    let script = ScriptedCommand(["upsc a@rack:3493": .output("ups.status: OL\nbattery.charge: 80")])
    var probe = UPSProbe(UPSSettings(watched: .named(["a@rack:3493", "b@shed"])), command: script.command)
    script["upsc b@shed"] = .failed("upsc ended with exited(1): Error: Unknown UPS")
    let readings = await probe.read(at: start)
    #expect(readings?.power == Reading(nil, source: "nut", raw: "a@rack:3493 OL 80 %; b@shed: Unknown UPS"))
    #expect(readings?.battery.value == 80)
    #expect(Set(script.takeAsked()) == ["upsc a@rack:3493", "upsc b@shed"])
  }

  @Test("without upsc a UPS that the owner named is unknown")
  func namedWithoutProgram() async {
    var probe = UPSProbe(UPSSettings(watched: .named(["a@rack"])), command: ScriptedCommand().command)
    #expect(await probe.read(at: start)?.power.raw.hasSuffix("upsc can no longer be found") == true)
  }

  @Test("one of several on battery is battery, even beside one that does not answer; the lowest charge counts")
  func several() async {
    let script = ScriptedCommand([
      "upsc a": .output("ups.status: OL\nbattery.charge: 40"), "upsc b": .output("ups.status: OB\nbattery.charge: 90"),
      "upsc c": .failed("Error: Data stale"),
    ])
    var probe = UPSProbe(UPSSettings(watched: .named(["a", "b", "c"])), command: script.command)
    let readings = await probe.read(at: start)
    #expect(readings?.power == Reading(.battery, source: "nut", raw: "a OL 40 %; b OB 90 %; c: Data stale"))
    #expect(readings?.battery.value == 40)
  }
}
