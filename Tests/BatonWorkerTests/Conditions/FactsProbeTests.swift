import BatonHost
import BatonModel
import BatonProcess
import Testing

@Suite("A probe of the operator's own")
struct FactsProbeTests {
  static func probe(_ answers: SystemCommand.Answer...) -> FactsProbe {
    let answers = Answers(answers)
    return FactsProbe(
      FactsSettings(command: ["facts"]), labels: ["zone": "garage", "rack": "1"],
      command: SystemCommand { _, _ in answers.next() })
  }

  @Test("plain values become labels, on top of those that are written down")
  func plain() async {
    var probe = Self.probe(.output(#"{"rack": 7, "tape": true, "load": 0.5, "room": "north"}"#))
    let reading = await probe.read()
    #expect(
      reading.value == ["zone": "garage", "rack": "7", "tape": "true", "load": "0.5", "room": "north"])
    #expect(reading.source == "facts")
  }

  @Test("one failure changes nothing; after the second the facts are gone, and the labels stay")
  func failures() async {
    var probe = Self.probe(.output(#"{"tape": true}"#), .failed("it is away"), .missing, .output(#"{"tape": false}"#))
    _ = await probe.read()
    let once = await probe.read()
    #expect(once.value?["tape"] == "true" && once.raw == "it is away")
    let twice = await probe.read()
    #expect(twice.value == ["zone": "garage", "rack": "1"] && twice.raw == "there is no such program")
    #expect(await probe.read().value?["tape"] == "false")
  }

  @Test(
    "what is no object of plain values is a failure that says why",
    arguments: [
      ("", "JSON"), ("[1]", "JSON"), (#"{"a": {"b": 1}}"#, "JSON"), (#"{"a b": 1}"#, "'a b'"),
      (#"{"a": "x\ny"}"#, "'a'"),
      ("{" + (0..<65).map { "\"a\($0)\": 1" }.joined(separator: ",") + "}", "65"),
    ])
  func garbage(text: String, named: String) async {
    var probe = Self.probe(.output(text))
    let reading = await probe.read()
    #expect(reading.value == ["zone": "garage", "rack": "1"])
    #expect(reading.raw.contains(named))
  }
}
