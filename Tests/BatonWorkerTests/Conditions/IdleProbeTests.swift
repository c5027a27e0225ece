import BatonHost
import BatonModel
import ContractRows
import Testing

@Suite("What the owner decides about idleness")
struct IdleProbeTests {
  private static let desktop = IdleFiles.bare + IdleFiles.session("2")

  @Test("a source that the owner ignores says nothing")
  func ignored() throws {
    var settings = IdleSettings()
    settings.ignored = [.logind, .terminal, .input, .load, .pressure]
    let files = Self.desktop + IdleFiles.input("event3") + ["proc/pressure/io": IdleFiles.pressure(90)]
    try IdleBench.with(files, settings: settings) { bench in
      bench.load = 90
      try bench.type(on: "pts/0")
      try bench.pass(20)
      #expect(bench.looksUnused)
    }
  }

  @Test("how long nobody must have been seen is the owner's choice")
  func after() throws {
    var settings = IdleSettings()
    settings.after = .seconds(15)
    try IdleBench.with(IdleFiles.bare, settings: settings) { bench in
      try bench.type(on: "pts/0")
      try bench.pass(14)
      #expect(bench.isIdle == false)
      try bench.pass(1)
      #expect(bench.isIdle == true)
    }
  }
}
