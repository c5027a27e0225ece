import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

@Suite("How load makes a host busy, and idle again")
struct OtherLoadTests {
  @Test("a burst of two seconds is none, one of three counts at once, and for a minute after it")
  func bursts() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      bench.load = 0
      try bench.pass(20)
      #expect(bench.isIdle == true)
      bench.load = 100
      try bench.pass(2)
      #expect(bench.isIdle == true, "\(bench.raw)")
      bench.load = 0
      try bench.pass(20)
      #expect(bench.isIdle == true)
      bench.load = 100
      try bench.pass(3)
      #expect(bench.source == "load")
      bench.load = 0
      // The mean stays over the threshold for 7 s, and then has to be low for 60 s.
      try bench.pass(66)
      #expect(bench.isIdle == false)
      try bench.pass(2)
      #expect(bench.isIdle == true, "\(bench.raw)")
    }
  }

  @Test(
    "the threshold is the owner's, and exactly as much is not over it",
    arguments: [(24, true), (25, true), (26, false)])
  func threshold(load: Int, isIdle: Bool) throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      bench.load = load
      try bench.pass(20)
      #expect(bench.isIdle == isIdle)
    }
  }

  @Test("own load never counts, whatever else runs beside it")
  func ownLoad() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      (bench.load, bench.ownLoad) = (10, 85)
      try bench.pass(30)
      #expect(bench.raw == "no desktop in use, load 10 %")
      (bench.load, bench.ownLoad) = (40, 60)
      try bench.pass(10)
      #expect(bench.source == "load")
    }
  }

  @Test("where own load is not known, the load of others is not, either")
  func unknownOwnLoad() throws {
    try IdleBench.with(IdleFiles.bare, ownIsKnown: false) { bench in
      try bench.pass(30)
      #expect(
        bench.verdict == .unknown(raw: "the processor time of Baton's own processes is not known", looksUnused: false))
    }
  }

  @Test("pressure of own work does not count, and not until the kernel's mean has forgotten it")
  func ownPressure() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      bench.isWorking = true
      for kind in ["memory", "io", "cpu"] {
        try bench.folder.write(IdleFiles.pressure(80), to: "proc/pressure/\(kind)")
      }
      try bench.pass(30)
      #expect(bench.isIdle == true, "no control group: it may be all our own")
      bench.isWorking = false
      try bench.pass(29)
      #expect(bench.isIdle == true)
      try bench.pass(1)
      #expect(bench.source == "pressure")
    }
  }

  @Test("a worker that a cpuLimit moved to a leaf counts its commands beside it as its own")
  func pressureBesideLimitedWork() throws {
    let own = "sys/fs/cgroup/system.slice/baton.service"
    let files = [
      "proc/self/cgroup": "0::/system.slice/baton.service/worker", "\(own)/io.pressure": IdleFiles.pressure(70),
      "\(own)/worker/io.pressure": IdleFiles.pressure(0), "\(own)/limited": MachineFolder.folder,
      "proc/pressure/io": IdleFiles.pressure(70),
    ]
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat + files) { bench in
      bench.isWorking = true
      try bench.pass(15)
      #expect(bench.isIdle == true, "\(bench.raw)")
    }
  }

  @Test("numbers that no machine has are not understood")
  func absurd() throws {
    try MachineFolder.with(["proc/stat": "cpu  9223372036854775807 9223372036854775807 1 1 1 1 1 1"]) { machine in
      var probe = IdleProbe(root: machine.root, ownTime: { .zero })
      for second in 0..<15 {
        guard
          case .unknown = probe.read(
            at: Instant(nanoseconds: Int64(second) * 1_000_000_000), date: Timestamp(nanoseconds: 0))
        else {
          Issue.record("it was understood")
          return
        }
      }
    }
  }

  @Test("of pressure beside own work, only what the own control group did not wait for counts")
  func pressureBesideOwnWork() throws {
    let own = "sys/fs/cgroup/system.slice/baton.service"
    let files = [
      "proc/self/cgroup": "0::/system.slice/baton.service", "\(own)/io.pressure": IdleFiles.pressure(50),
      "proc/pressure/io": IdleFiles.pressure(70),
    ]
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat + files) { bench in
      bench.isWorking = true
      try bench.pass(15)
      #expect(bench.isIdle == true)
      try bench.folder.write(IdleFiles.pressure(90), to: "proc/pressure/io")
      try bench.pass(1)
      #expect(bench.raw == "io pressure 40 %")
    }
  }

  @Test("pressure of the processors counts while nothing of ours runs")
  func processorPressure() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat + ["proc/pressure/cpu": IdleFiles.pressure(51)]) { bench in
      try bench.pass(15)
      #expect(bench.raw == "cpu pressure 51 %")
    }
  }
}
