import BatonModel
import BatonWorker
import ContractRows
import Testing

@Suite("The power profile that the owner chose")
struct PowerProfileTests {
  @Test(
    "only the power saver is low power mode", .contract(23),
    arguments: [("power-saver", true), ("balanced", false), ("performance", false), ("", nil)] as [(String, Bool?)])
  func profiles(name: String, isSaver: Bool?) async {
    let bus = SystemBus(command: SystemCommand { _, _ in .output("{\"type\":\"s\",\"data\":\"\(name)\"}") })
    let reading = await PowerProfileProbe(bus: bus).read(at: .second(0))
    #expect(reading == Reading(isSaver, source: "power-profiles-daemon", raw: name))
  }

  @Test("the service is found by its new and by its old name", arguments: ["org.freedesktop.UPower", "net.hadess"])
  func names(vendor: String) async {
    let questions = Questions(.missing)
    questions.respond = { arguments in
      arguments.contains("\(vendor).PowerProfiles") ? .output(#"{"type":"s","data":"power-saver"}"#) : .missing
    }
    let reading = await PowerProfileProbe(bus: SystemBus(command: questions.command)).read(at: .second(0))
    #expect(reading?.value == true)
  }

  @Test("without the service nobody says anything; with one that fails it is unknown")
  func absence() async {
    func read(_ answer: SystemCommand.Answer) async -> Reading<Bool>? {
      await PowerProfileProbe(bus: SystemBus(command: Questions(answer).command)).read(at: .second(0))
    }
    #expect(await read(.missing) == nil)
    #expect(await read(.failed("no time"))?.raw == "no time")
    #expect(await read(.failed("no time"))?.value == .some(nil))
  }
}
