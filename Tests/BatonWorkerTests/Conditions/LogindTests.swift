import BatonModel
import ContractRows
import HostFixtures
import Testing

@testable import BatonHost

@Suite("How desktops make a host busy, and idle again")
struct LogindTests {
  private static let desktop = IdleFiles.bare + IdleFiles.session("2")
  private static let hint = LogindAnswer.Hint(isIdle: false, since: nil)

  @Test("a desktop that became idle a minute ago is believed to be so for longer by its keyboard")
  func keyboardKnowsBetter() throws {
    let files = Self.desktop + IdleFiles.input("event3") + IdleFiles.interrupts(100)
    try IdleBench.with(files) { bench in
      bench.logind = LogindAnswer(host: Self.hint, sessions: ["2": Self.hint])
      try bench.pass(240)
      let idle = LogindAnswer.Hint(isIdle: true, since: bench.date)
      bench.logind = LogindAnswer(host: Self.hint, sessions: ["2": idle])
      try bench.pass(60)
      #expect(bench.isIdle == true)
    }
    try IdleBench.with(Self.desktop) { bench in
      bench.logind = LogindAnswer(host: Self.hint, sessions: ["2": .init(isIdle: true, since: bench.date)])
      try bench.pass(60)
      #expect(bench.raw == "session 2 of anna idle for 60 s only")
    }
  }

  @Test("a step of the wall clock does not make an idle hint old", arguments: [-3600, 3600])
  func hintAndClock(seconds: Int) throws {
    try IdleBench.with(Self.desktop) { bench in
      bench.logind = LogindAnswer(host: Self.hint, sessions: ["2": .init(isIdle: true, since: bench.date)])
      try bench.pass(60)
      bench.date = bench.date + .seconds(seconds)
      try bench.pass(119)
      #expect(bench.isIdle == false)
      try bench.pass(1)
      #expect(bench.isIdle == true)
    }
  }

  @Test("somebody who logs in or out at a seat was there; one who comes by ssh without a terminal was not")
  func logins() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      try bench.pass(20)
      #expect(bench.isIdle == true)
      for (file, contents) in IdleFiles.session("7", type: "tty", seat: "") {
        try bench.folder.write(contents, to: file)
      }
      try bench.pass(1)
      #expect(bench.isIdle == true)
      for (file, contents) in IdleFiles.session("8", type: "tty") { try bench.folder.write(contents, to: file) }
      try bench.pass()
      #expect(bench.raw == "login, logout or another session at seat0 0 s ago")
      try bench.pass(180)
      #expect(bench.isIdle == true)
      bench.folder.remove("run/systemd/sessions/8")
      try bench.pass(1)
      #expect(bench.source == "logind")
    }
  }

  @Test("the desktops to ask for are those in the foreground")
  func desktops() throws {
    let files =
      Self.desktop + IdleFiles.session("3", isActive: false) + IdleFiles.session("4", type: "tty")
      + IdleFiles.session("5", type: "x11", seat: "") + IdleFiles.session("c1", category: "greeter")
      + ["run/systemd/sessions/2.ref": ""]
    try IdleBench.with(files) { bench in
      try bench.pass()
      #expect(bench.desktops == ["2", "5"])
    }
  }
}
