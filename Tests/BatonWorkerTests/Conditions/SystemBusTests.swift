import BatonModel
import BatonProcess
import ContractRows
import HostFixtures
import Synchronization
import Testing

@testable import BatonHost

@Suite("Services on the system bus")
struct SystemBusTests {
  private static let object = BusObject(service: "org.example", path: "/", interface: "org.example.One")

  @Test(
    "an answer is as many typed values as were asked for, or none is believed",
    arguments: [
      (#"{"type":"b","data":true}"#, 1, [BusValue.flag(true)]),
      (#"{"type":"s","data":"power-saver"}"#, 1, [.text("power-saver")]),
      (
        "{\"type\":\"b\",\"data\":false}\n{\"type\":\"t\",\"data\":1795289757520000}\n", 2,
        [.flag(false), .number(1_795_289_757_520_000)]
      ),
      (#"{"type":"t","data":18446744073709551615}"#, 1, [.number(.max)]),
      (#"{"type":"u","data":4}"#, 1, [.number(4)]),
      (#"{"type":"b","data":true}"#, 2, nil), ("", 1, nil), ("b true", 1, nil), (#"{"type":"b","data":1}"#, 1, nil),
      (#"{"type":"u","data":-1}"#, 1, nil), (#"{"type":"s","data":null}"#, 1, nil),
      ("a warning\n{\"type\":\"b\",\"data\":true}", 1, nil), (#"{"type":"as","data":["a"]}"#, 1, nil),
      (#"{"data":true}"#, 1, nil),
      ("{\"type\":\"b\",\"data\":true}\n{\"type\":\"b\",\"data\":true}", 1, nil),
    ] as [(String, Int, [BusValue]?)])
  func values(output: String, count: Int, expected: [BusValue]?) async {
    let bus = SystemBus(command: SystemCommand { _, _ in .output(output) })
    let names = (0..<count).map { "P\($0)" }
    switch await bus.properties(names, of: Self.object, at: Instant(nanoseconds: 0)) {
    case .values(let values): #expect(values == expected)
    case .failed: #expect(expected == nil)
    case .missing: Issue.record("not missing")
    }
  }

  @Test(
    "what busctl says where there is nothing means missing; anything else is a failure",
    arguments: [
      ("busctl ended with exited(1): Failed to connect to bus: No such file or directory", true),
      ("busctl: Failed to get property A on interface B: The name B was not provided by any .service files", true),
      ("busctl: Failed to get property Metered on interface X: no such property Metered", true),
      ("busctl: Failed to get property A on interface B: Unit power-profiles-daemon.service not found.", true),
      ("busctl did not end within 3.0 seconds", false),
      ("busctl: Failed to get property A on interface B: Access denied", false),
    ])
  func absence(why: String, isAbsence: Bool) async {
    let bus = SystemBus(command: SystemCommand { _, _ in .failed(why) })
    let answer = await bus.properties(["A"], of: Self.object, at: Instant(nanoseconds: 0))
    #expect(answer == (isAbsence ? .missing : .failed(why)))
  }

  @Test("a service that is not there is asked for once a minute, one that failed at every question")
  func spacing() async {
    let questions = Questions(.missing)
    let bus = SystemBus(command: questions.command)
    for second in [0, 1, 59, 60, 61] { _ = await bus.properties(["A"], of: Self.object, at: .second(second)) }
    #expect(questions.count == 2)
    questions.answer = .failed("timeout")
    for second in [120, 121] { _ = await bus.properties(["A"], of: Self.object, at: .second(second)) }
    #expect(questions.count == 4)
    questions.answer = .output(#"{"type":"b","data":true}"#)
    #expect(await bus.properties(["A"], of: Self.object, at: .second(122)) == .values([.flag(true)]))
  }

  @Test("where there is no bus no program is started, and everything is missing")
  func noBus() async throws {
    let questions = Questions(.output(#"{"type":"b","data":true}"#))
    try await MachineFolder.with([:]) { folder in
      let root = SystemRoot(folder.path)
      let bus = SystemBus(command: questions.command) { SystemBus.isThere(in: root) }
      #expect(await bus.properties(["A"], of: Self.object, at: .second(0)) == .missing)
      #expect(questions.count == 0)
      try folder.write("", to: "run/dbus/system_bus_socket")
      #expect(await bus.properties(["A"], of: Self.object, at: .second(1)) == .values([.flag(true)]))
    }
  }

  @Test("a question names service, object, interface and all properties, and goes to the system bus")
  func arguments() async {
    let questions = Questions(.missing)
    let bus = SystemBus(command: questions.command)
    _ = await bus.networkCost(at: .second(0))
    let expected =
      "busctl --system --json=short get-property org.freedesktop.NetworkManager"
      + " /org/freedesktop/NetworkManager org.freedesktop.NetworkManager Metered"
    #expect(questions.last == expected)
  }

  @Test(
    "NetworkManager's guesses count like its knowledge",
    arguments: [(0, nil), (1, true), (2, false), (3, true), (4, false)] as [(Int, Bool?)])
  func cost(number: Int, isMetered: Bool?) async {
    let bus = SystemBus(command: SystemCommand { _, _ in .output("{\"type\":\"u\",\"data\":\(number)}") })
    let cost = await bus.networkCost(at: .second(0)).value
    #expect(cost != nil)
    #expect(cost?.isMetered == isMetered)
  }

  @Test("logind is asked for all together and for every session, by its escaped name")
  func logind() async {
    let questions = Questions(.missing)
    questions.respond = { arguments in
      if arguments.contains("BlockInhibited") {
        return .output(
          "{\"type\":\"b\",\"data\":false}\n{\"type\":\"t\",\"data\":0}\n{\"type\":\"s\",\"data\":\"sleep:idle\"}")
      }
      guard arguments.contains("/org/freedesktop/login1/session/_32") else { return .missing }
      return .output(
        "{\"type\":\"b\",\"data\":true}\n{\"type\":\"t\",\"data\":7000000}\n{\"type\":\"b\",\"data\":true}")
    }
    let answer = await SystemBus(command: questions.command).logind(sessions: ["2", "c1"], at: .second(0)).value
    let hint = LogindAnswer.Hint(isIdle: true, since: Timestamp(nanoseconds: 7_000_000_000), isLocked: true)
    let host = LogindAnswer.Hint(isIdle: false, since: nil)
    #expect(answer == LogindAnswer(host: host, isInhibited: true, sessions: ["2": hint]))
    #expect(questions.last?.contains("/org/freedesktop/login1/session/c1 ") == true)
  }

  @Test("without logind there is no answer")
  func noLogind() async {
    #expect(await SystemBus(command: Questions(.missing).command).logind(sessions: ["2"], at: .second(0)).value == nil)
    #expect(await SystemBus(command: Questions(.failed("x")).command).logind(sessions: [], at: .second(0)).value == nil)
  }
}

/// A `busctl` that records its calls and gives the test's answers.
final class Questions: Sendable {
  private struct State {
    var answer: SystemCommand.Answer
    var respond: (@Sendable ([String]) -> SystemCommand.Answer)?
    var asked: [String] = []
  }

  private let state: Mutex<State>

  init(_ answer: SystemCommand.Answer) { state = Mutex(State(answer: answer)) }

  var answer: SystemCommand.Answer {
    get { state.withLock { $0.answer } }
    set { state.withLock { $0.answer = newValue } }
  }
  var respond: (@Sendable ([String]) -> SystemCommand.Answer)? {
    get { state.withLock { $0.respond } }
    set { state.withLock { $0.respond = newValue } }
  }
  var count: Int { state.withLock { $0.asked.count } }
  var last: String? { state.withLock { $0.asked.last } }

  var command: SystemCommand {
    SystemCommand { arguments, _ in
      self.state.withLock { state in
        state.asked.append(arguments.joined(separator: " "))
        return state.respond?(arguments) ?? state.answer
      }
    }
  }
}

extension Instant {
  static func second(_ second: Int) -> Instant { Instant(nanoseconds: Int64(second) * 1_000_000_000) }
}
