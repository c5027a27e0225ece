import BatonHost
import BatonModel
import BatonProcess
import ContractRows
import Testing

@Suite("The power profile that the owner chose")
struct PowerProfileTests {
  @Test(
    "only the power saver is low power mode",
    arguments: [("power-saver", true), ("balanced", false), ("performance", false), ("", nil)] as [(String, Bool?)])
  func profiles(name: String, isSaver: Bool?) async {
    let bus = SystemBus(command: SystemCommand { _, _ in .output("{\"type\":\"s\",\"data\":\"\(name)\"}") })
    let reading = await PowerProfileProbe(bus: bus).read(at: .second(0)).value
    #expect(reading == Reading(isSaver, source: "power-profiles-daemon", raw: name))
  }

  @Test("the service is found by its new and by its old name", arguments: ["org.freedesktop.UPower", "net.hadess"])
  func names(vendor: String) async {
    let questions = Questions(.missing)
    questions.respond = { arguments in
      arguments.contains("\(vendor).PowerProfiles") ? .output(#"{"type":"s","data":"power-saver"}"#) : .missing
    }
    let reading = await PowerProfileProbe(bus: SystemBus(command: questions.command)).read(at: .second(0)).value
    #expect(reading?.value == true)
  }

  @Test("without the service nobody says anything; one that is late is silent, and what it said holds for a while")
  func absence() async {
    func read(_ answer: SystemCommand.Answer) async -> Reading<Bool>? {
      await PowerProfileProbe(bus: SystemBus(command: Questions(answer).command)).read(at: .second(0)).value
    }
    #expect(await read(.missing) == nil)
    #expect(await read(.failed("no time")) == nil)
    var last = LastWord<Bool>()
    #expect(last.take(.said(true), at: .second(0)) == true)
    #expect(last.take(.silent, at: .second(149)) == true)
    #expect(last.take(.silent, at: .second(150)) == nil)
    #expect(last.take(.said(true), at: .second(200)) == true)
    #expect(last.take(.absent, at: .second(201)) == nil)
  }
}
