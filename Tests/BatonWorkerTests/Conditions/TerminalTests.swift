import BatonModel
import ContractRows
import HostFixtures
import Testing

@Suite("How terminals make a host busy, and idle again")
struct TerminalTests {
  @Test("a step of the wall clock makes nobody idle", arguments: [-86_400, -3600, 3600, 86_400])
  func clockSteps(seconds: Int) throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.pass(20)
      try bench.type(on: "pts/3")
      try bench.pass(10)
      #expect(bench.source == "terminal")
      bench.date = bench.date + .seconds(seconds)
      try bench.pass(169)
      #expect(bench.source == "terminal")
      #expect(bench.isIdle == false)
      try bench.pass(1)
      #expect(bench.isIdle == true)
    }
  }

  @Test("a terminal that was last used in the future counts as used now")
  func future() throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.type(on: "pts/3", ago: .seconds(-500))
      try bench.pass(179)
      #expect(bench.raw == "pts/3 used 2 min ago")
      try bench.pass(1)
      #expect(bench.isIdle == true)
    }
  }

  @Test("the kernel keeps the time of a terminal for 8 s, so what counts is that it changed")
  func granularity() throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.type(on: "pts/0", ago: .seconds(1000))
      try bench.pass(20)
      try bench.type(on: "pts/0", ago: .seconds(7))
      try bench.pass()
      #expect(bench.raw == "pts/0 used 0 s ago")
    }
  }

  @Test("typing keeps a host busy, a terminal that closes does not")
  func typing() throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.type(on: "pts/0", ago: .seconds(1000))
      try bench.pass(20)
      #expect(bench.isIdle == true)
      try bench.type(on: "pts/0")
      try bench.pass(100)
      try bench.type(on: "pts/0")
      try bench.pass(100)
      #expect(bench.raw == "pts/0 used 100 s ago")
      bench.folder.remove("dev/pts/0")
      try bench.pass()
      #expect(bench.looksUnused)
    }
  }

  @Test("a console that was used before the worker started is found")
  func consoles() throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.type(on: "tty0", ago: .seconds(5000))
      for console in 1...6 { try bench.type(on: "tty\(console)", ago: .seconds(4999)) }
      try bench.type(on: "tty2", ago: .seconds(60))
      try bench.pass()
      #expect(bench.raw == "tty2 used 60 s ago")
    }
  }
  @Test("where the system says which console stands in front, that one counts, and the one that did before")
  func front() throws {
    try IdleBench.with(IdleFiles.bare) { bench in
      try bench.type(on: "pts/0", ago: .seconds(9000))
      for console in 0...6 { try bench.type(on: "tty\(console)", ago: .seconds(5000)) }
      try bench.folder.write("tty1\n", to: "sys/class/tty/tty0/active")
      try bench.pass(20)
      #expect(bench.isIdle == true)
      // A person can type only on the console in the foreground, so a change of another console does not count.
      try bench.type(on: "tty5")
      try bench.pass()
      #expect(bench.isIdle == true)
      try bench.type(on: "tty1")
      try bench.pass()
      #expect(bench.raw == "tty1 used 0 s ago")
      try bench.pass(200)
      #expect(bench.isIdle == true)
      // A person types on tty1, switches to tty2, and types there.
      try bench.type(on: "tty1")
      try bench.folder.write("tty2\n", to: "sys/class/tty/tty0/active")
      try bench.pass()
      #expect(bench.raw == "tty1 used 0 s ago")
      try bench.pass(100)
      try bench.type(on: "tty2")
      try bench.pass()
      #expect(bench.raw == "tty2 used 0 s ago")
    }
  }
}
