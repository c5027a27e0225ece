import BatonModel
import ContractRows
import HostFixtures
import Testing

@testable import BatonHost

/// A simulated host: its files, and what a person and other programs do on it. After `seconds` its idleness must be
/// `outcome`.
struct IdleMachine: Sendable, CustomTestStringConvertible {
  enum Outcome: Hashable, Sendable {
    case idle(String)
    case busy(String)
    /// Idleness is unknown. See `IdleVerdict` for `looksUnused`.
    case unknown(looksUnused: Bool)
  }

  var name: String
  var files: MachineFolder.Files
  /// The terminals, each with the number of seconds since its last use, counted at the end.
  var terminals: [String: Int] = [:]
  var logind: LogindAnswer?
  var load = 3
  var ownLoad = 0
  var seconds = 200
  var outcome: Outcome
  /// A part of the raw reading.
  var says = ""

  var testDescription: String { name }
}

@Suite("Whether somebody uses a host")
struct IdleMachineTests {
  private static let bare = IdleFiles.bare
  private static let server = bare + IdleFiles.seat
  private static let desktop = bare + IdleFiles.session("2")
  private static let keyboard = IdleFiles.input("event3") + IdleFiles.interrupts(100)

  private static func ago(_ seconds: Int, idle: Bool, locked: Bool = false) -> LogindAnswer.Hint {
    let date = Timestamp(nanoseconds: 1_790_000_000_000_000_000) + .seconds(200 - seconds)
    return LogindAnswer.Hint(isIdle: idle, since: date, isLocked: locked)
  }
  private static let silent = LogindAnswer.Hint(isIdle: false, since: nil)
  private static func says(_ hints: [String: LogindAnswer.Hint], inhibited: Bool = false) -> LogindAnswer {
    LogindAnswer(host: silent, isInhibited: inhibited, sessions: hints)
  }

  static let nobodyToAsk: [IdleMachine] = [
    IdleMachine(name: "container without anything", files: bare, outcome: .unknown(looksUnused: true), says: "no seat"),
    IdleMachine(name: "the same under load", files: bare, load: 60, outcome: .busy("load"), says: "load 60 %"),
    IdleMachine(name: "the same under our own load", files: bare, ownLoad: 90, outcome: .unknown(looksUnused: true)),
    IdleMachine(name: "no proc/stat", files: [:], outcome: .unknown(looksUnused: false), says: "proc/stat"),
    IdleMachine(name: "the load is not known yet", files: bare, seconds: 5, outcome: .unknown(looksUnused: false)),
    IdleMachine(
      name: "pressure cannot be read", files: bare + ["proc/pressure/io": MachineFolder.unreadable],
      outcome: .unknown(looksUnused: false), says: "proc/pressure/io"),
    IdleMachine(
      name: "pressure is garbage", files: bare + ["proc/pressure/memory": "lots"], outcome: .unknown(looksUnused: false)
    ),
    IdleMachine(
      name: "a kernel without pressure", files: ["proc/stat": "cpu  0 0 0 0"], outcome: .unknown(looksUnused: true)),
    IdleMachine(
      name: "pressure on memory", files: bare + ["proc/pressure/memory": IdleFiles.pressure(12.5)],
      outcome: .busy("pressure"), says: "memory pressure 12 %"),
    IdleMachine(
      name: "pressure on disks", files: bare + ["proc/pressure/io": IdleFiles.pressure(31.2)],
      outcome: .busy("pressure"), says: "io pressure 31 %"),
    IdleMachine(
      name: "a power button and a gamepad are nobody",
      files: bare + IdleFiles.input("event0", bus: "0019", key: IdleFiles.powerKeys)
        + IdleFiles.input("event1", bus: "0003", key: IdleFiles.gamepadKeys, abs: "3"),
      outcome: .unknown(looksUnused: true)),
    IdleMachine(
      name: "an accelerometer is nobody",
      files: bare + IdleFiles.input("event1", bus: "0018", key: IdleFiles.touchKeys, abs: "7", properties: "40"),
      outcome: .unknown(looksUnused: true)),
    IdleMachine(
      name: "consoles that nobody ever used", files: bare, terminals: ["tty0": 70, "tty1": 65], seconds: 60,
      outcome: .unknown(looksUnused: true)),
  ]

  static let servers: [IdleMachine] = [
    IdleMachine(name: "headless server with logind", files: server, outcome: .idle("logind"), says: "load 3 %"),
    IdleMachine(name: "build server", files: server, load: 70, outcome: .busy("load")),
    IdleMachine(
      name: "server with our own load", files: server, ownLoad: 95, outcome: .idle("logind"), says: "load 3 %"),
    IdleMachine(
      name: "ssh session, used", files: server + IdleFiles.session("5", type: "tty", seat: ""),
      terminals: ["pts/3": 12],
      outcome: .busy("terminal"), says: "pts/3 used 12 s ago"),
    IdleMachine(
      name: "ssh session, left alone", files: server + IdleFiles.session("5", type: "tty", seat: ""),
      terminals: ["pts/3": 4000, "pts/10": 600], outcome: .idle("terminal"), says: "no terminal used for 10 min"),
    IdleMachine(
      name: "detached tmux, without logind", files: bare, terminals: ["pts/0": 7300], outcome: .idle("terminal"),
      says: "2 h"),
    IdleMachine(
      name: "somebody at the console", files: server + IdleFiles.session("1", type: "tty"),
      terminals: ["tty0": 9000, "tty1": 30], outcome: .busy("terminal"), says: "tty1"),
    IdleMachine(
      name: "cron and a service manager are nobody",
      files: server + IdleFiles.session("c1", type: "unspecified", category: "background", seat: "")
        + IdleFiles.session("c2", type: "x11", category: "manager"), outcome: .idle("logind")),
    IdleMachine(
      name: "a server's keyboard that cannot be read", files: server + IdleFiles.input("event3", bus: "0005"),
      outcome: .idle("logind")),
    IdleMachine(
      name: "ptmx is no terminal", files: bare + ["dev/pts/ptmx": ""], outcome: .unknown(looksUnused: true)),
  ]

  static let desktops: [IdleMachine] = [
    IdleMachine(
      name: "desktop that says it is idle", files: desktop, logind: says(["2": ago(900, idle: true)]),
      outcome: .idle("logind"), says: "session 2 of anna idle for 15 min"),
    IdleMachine(
      name: "desktop that says it is idle just now", files: desktop, logind: says(["2": ago(200, idle: true)]),
      seconds: 60,
      outcome: .busy("logind"), says: "idle for 60 s only"),
    IdleMachine(
      name: "desktop that says somebody is there", files: desktop + keyboard,
      logind: says(["2": ago(900, idle: false)]),
      outcome: .busy("logind"), says: "not idle"),
    IdleMachine(
      name: "a film runs", files: desktop, logind: says(["2": ago(900, idle: true)], inhibited: true),
      outcome: .busy("logind"), says: "asks that the host does not count as idle"),
    IdleMachine(
      name: "desktop that never says anything", files: desktop, logind: says(["2": silent]),
      outcome: .unknown(looksUnused: false), says: "session 2 of anna does not say"),
    IdleMachine(name: "no bus, no input device", files: desktop, outcome: .unknown(looksUnused: false)),
    IdleMachine(
      name: "never says anything, keyboard quiet", files: desktop + keyboard, logind: says(["2": silent]),
      outcome: .idle("input"), says: "no input for"),
    IdleMachine(
      name: "the keyboard has no history yet", files: desktop + keyboard, logind: says(["2": silent]), seconds: 170,
      outcome: .unknown(looksUnused: false), says: "watched for 2 min only"),
    IdleMachine(
      name: "a keyboard by radio, which nothing counts",
      files: desktop + keyboard + IdleFiles.input("event4", bus: "0005"),
      outcome: .unknown(looksUnused: false), says: "cannot be read"),
    IdleMachine(
      name: "desktop without logind", files: bare + keyboard, outcome: .idle("input")),
    IdleMachine(
      name: "desktop without logind, just started", files: bare + keyboard, seconds: 20,
      outcome: .unknown(looksUnused: false)),
    IdleMachine(
      name: "desktop without logind, its owner in a terminal", files: bare + keyboard, terminals: ["pts/1": 3],
      outcome: .busy("terminal")),
    IdleMachine(
      name: "locked screen that was just unlocked before", files: desktop,
      logind: says(["2": ago(9000, idle: false, locked: true)]), outcome: .idle("logind"), says: "idle for 3 min"),
    IdleMachine(
      name: "screen locked a minute ago", files: desktop, logind: says(["2": ago(9000, idle: false, locked: true)]),
      seconds: 60, outcome: .busy("logind")),
    IdleMachine(
      name: "kiosk with a touch screen",
      files: desktop + IdleFiles.input("event5", bus: "0018", key: IdleFiles.touchKeys, abs: "3")
        + ["sys/bus/i2c/drivers/i2c_hid_acpi/i2c-GDIX1001:00/name": "x"] + IdleFiles.interrupts(7, name: "GDIX1001:00"),
      outcome: .idle("input")),
    IdleMachine(
      name: "only the greeter", files: server + IdleFiles.session("c1", category: "greeter"),
      outcome: .idle("logind")),
    IdleMachine(
      name: "session in the background, greeter in front",
      files: server + IdleFiles.session("2", isActive: false, state: "online")
        + IdleFiles.session("c1", category: "greeter"), outcome: .idle("logind")),
    IdleMachine(
      name: "two seats, one used",
      files: bare + IdleFiles.session("2") + IdleFiles.session("3", seat: "seat1"),
      logind: says(["2": ago(900, idle: true), "3": ago(900, idle: false)]), outcome: .busy("logind"), says: "session 3"
    ),
    IdleMachine(
      name: "two seats, both left",
      files: bare + IdleFiles.session("2") + IdleFiles.session("3", seat: "seat1"),
      logind: says(["2": ago(900, idle: true), "3": ago(600, idle: true)]), outcome: .idle("logind"), says: "10 min"),
    IdleMachine(
      name: "a desktop from elsewhere that says nothing",
      files: server + IdleFiles.session("4", type: "x11", seat: "") + keyboard,
      logind: says(["4": silent]), outcome: .unknown(looksUnused: false), says: "session 4"),
    IdleMachine(
      name: "a session that closes", files: server + IdleFiles.session("2", state: "closing"),
      outcome: .idle("logind")),
    IdleMachine(
      name: "only the bus, which says idle", files: bare, logind: LogindAnswer(host: ago(900, idle: true)),
      outcome: .idle("logind")),
    IdleMachine(
      name: "only the bus, which says nothing clear", files: bare, logind: LogindAnswer(host: ago(900, idle: false)),
      outcome: .unknown(looksUnused: false)),
    IdleMachine(
      name: "desktop left alone under others' load", files: desktop, logind: says(["2": ago(900, idle: true)]),
      load: 40,
      outcome: .busy("load")),
  ]

  @Test("what a host comes to, and who says so", .contract(21.1, 21.2), arguments: nobodyToAsk + servers + desktops)
  func machines(machine: IdleMachine) throws {
    try MachineFolder.with(machine.files) { folder in
      let bench = IdleBench(folder)
      bench.logind = machine.logind
      (bench.load, bench.ownLoad) = (machine.load, machine.ownLoad)
      let (old, recent) = (
        machine.terminals.filter { $1 >= machine.seconds }, machine.terminals.filter { $1 < machine.seconds }
      )
      for (name, age) in old { try bench.type(on: name, ago: .seconds(age - machine.seconds)) }
      try bench.pass(machine.seconds - (recent.values.max() ?? machine.seconds), every: 5)
      for (name, age) in recent { try bench.type(on: name, ago: .seconds(age - recent.values.max()!)) }
      try bench.pass(recent.values.max() ?? machine.seconds, every: 5)
      #expect(bench.outcome == machine.outcome, "\(bench.raw)")
      #expect(bench.raw.contains(machine.says), "\(bench.raw)")
    }
  }
}

extension IdleBench {
  var outcome: IdleMachine.Outcome {
    switch verdict {
    case .known(let reading): reading.value == true ? .idle(reading.source) : .busy(reading.source)
    case .unknown(_, let looksUnused): .unknown(looksUnused: looksUnused)
    }
  }
}
