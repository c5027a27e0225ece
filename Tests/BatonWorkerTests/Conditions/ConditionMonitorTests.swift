import BatonBase
import BatonHost
import BatonModel
import BatonProcess
import BatonWire
import ContractRows
import Dispatch
import HostFixtures
import Synchronization
import Testing

@Suite("What a worker is told of its host", .timeLimit(.minutes(10)))
struct ConditionMonitorTests {
  /// Clocks on which a sleep ends at once and moves the time on by its duration, unless `now` is held.
  static func clocks(_ now: MovingClock) -> Clocks {
    Clocks(
      instant: { now.instant },
      sleep: { duration in
        repeat {
          try Task.checkCancellation()
          await Task.yield()
        } while now.isHeld
        now.pass(duration)
      }, date: { Timestamp(nanoseconds: 0) })
  }

  final class MovingClock: Sendable {
    private let state = Mutex(Instant(nanoseconds: 0))
    private let hold = Mutex<@Sendable () -> Bool>({ false })

    var isHeld: Bool { hold.withLock { $0 }() }

    /// Holds the clock while `monitor` reads the small files. On a busy machine a look would otherwise take longer on
    /// this clock than the monitor's patience.
    func waits(for monitor: ConditionMonitor) {
      hold.withLock { $0 = { [weak monitor] in monitor?.isGlancing == true } }
    }

    var instant: Instant { state.withLock { $0 } }
    func pass(_ duration: Duration) { state.withLock { $0 = $0 + duration } }
  }

  static func settings(_ machine: MachineFolder, _ probes: Set<ConditionSettings.Probe>) -> ConditionSettings {
    var settings = ConditionSettings()
    settings.root = machine.root
    settings.probes = probes
    return settings
  }

  /// Runs the monitor, and returns the conditions that it reports, in order, up to the first for which `isEnough` is
  /// true.
  static func told(
    by monitor: ConditionMonitor, until isEnough: @escaping @Sendable (Conditions) -> Bool
  ) async -> [Conditions] {
    let news = Mailbox<Conditions>(capacity: 10_000)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { await monitor.run { news.send($0) } }
      var told: [Conditions] = []
      defer { group.cancelAll() }
      while let some = await news.receive() {
        for one in some {
          told.append(one)
          if isEnough(one) { return told }
        }
      }
      return told
    }
  }

  static let idleOwn = ConditionMonitor.OwnWork(cpuTime: { .zero }, isWorking: { false })

  @Test("an unplugged supply is told at once, and that it is back as soon as it waits to count, and then that it does")
  func changes() async throws {
    try await MachineFolder.with(["sys/class/power_supply/AC/type": "Mains", "sys/class/power_supply/AC/online": "1"]) {
      machine in
      try machine.write("Battery", to: "sys/class/power_supply/BAT0/type")
      try machine.write("Discharging", to: "sys/class/power_supply/BAT0/status")
      try machine.write("0", to: "sys/class/power_supply/AC/online")
      let clock = MovingClock()
      let monitor = ConditionMonitor(
        Self.settings(machine, [.power]), clocks: Self.clocks(clock), own: Self.idleOwn)
      clock.waits(for: monitor)
      let first = await monitor.look(within: .seconds(3600))
      #expect(first.power.value == .battery)
      try machine.write("1", to: "sys/class/power_supply/AC/online")
      try machine.write("Charging", to: "sys/class/power_supply/BAT0/status")
      let told = await Self.told(by: monitor) { $0.power.value == .external }
      #expect(told.map(\.power.value) == [.battery, .battery, .external])
      #expect(told[1].power.raw.contains("if it lasts"))
    }
  }

  @Test("what is read first counts as it is: nothing is assumed meanwhile")
  func first() async throws {
    try await MachineFolder.with(["proc/net/route": "Iface\tDestination", "proc/net/ipv6_route": ""]) { machine in
      var settings = Self.settings(machine, [.network, .power])
      settings.treatUnknownAs.power = .battery
      let monitor = ConditionMonitor(settings, clocks: Self.clocks(MovingClock()), own: Self.idleOwn)
      monitor.ownerSays(.accepting)
      let conditions = await monitor.look(within: .seconds(3600))
      #expect(conditions.network.value == .unavailable)
      #expect(conditions.power.value == .external)
    }
  }

  @Test("a driver that does not answer makes what it says unknown, and nothing else waits for it")
  func hanging() async throws {
    try await MachineFolder.with(["sys/class/power_supply/AC/type": "Mains", "sys/class/power_supply/AC/online": "1"]) {
      machine in
      let (clock, gate) = (MovingClock(), DispatchSemaphore(value: 0))
      let isHanging = Mutex(false)
      let monitor = ConditionMonitor(
        Self.settings(machine, [.power, .idle]), clocks: Self.clocks(clock),
        own: ConditionMonitor.OwnWork(
          cpuTime: {
            if isHanging.withLock({ $0 }) { gate.wait() }
            return .zero
          }, isWorking: { false }))
      _ = await monitor.look(within: .seconds(3600))
      isHanging.withLock { $0 = true }
      let told = await Self.told(by: monitor) {
        guard $0.power.source == "assumed" else { return false }
        // The order matters: the next look must not wait at the gate, because nothing would open it again.
        isHanging.withLock { $0 = false }
        gate.signal()
        return true
      }
      #expect(told.first?.power.source == "sysfs")
      #expect(told.last?.power.raw == "unknown: sysfs: the system does not answer")
      #expect(told.last?.isIdle.value == false)
    }
  }

  @Test("the first look ends without a driver that does not answer")
  func firstLook() async throws {
    try await MachineFolder.with { machine in
      let gate = Signal()
      let driver = SystemCommand { _, _ in
        await gate.wait()
        return .missing
      }
      let monitor = ConditionMonitor(
        Self.settings(machine, [.gpu]), clocks: Self.clocks(MovingClock()), command: driver, own: Self.idleOwn)
      let conditions = await monitor.look(within: .milliseconds(1))
      #expect(conditions.gpus.value == nil)
      gate.raise()
    }
  }

  @Test("a number that changes nothing is told once the last report is older than the interval")
  func numbers() async throws {
    let zone = "sys/class/thermal/thermal_zone0"
    try await MachineFolder.with(["\(zone)/type": "x86_pkg_temp", "\(zone)/temp": "45000"]) { machine in
      let clock = MovingClock()
      var clocks = Self.clocks(clock)
      // No loop of the monitor goes on, so that the test decides when the host is read.
      clocks.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
      let monitor = ConditionMonitor(Self.settings(machine, [.thermal]), clocks: clocks, own: Self.idleOwn)
      _ = await monitor.look(within: .seconds(3600))
      let news = Mailbox<Conditions>(capacity: 1_000)
      let run = Task { await monitor.run { news.send($0) } }
      let first = try #require(await news.receive()?.first)
      #expect(first.thermal.raw.contains("45.0"))
      for second in 1...60 {
        clock.pass(.seconds(1))
        if second == 10 { try machine.write("46000", to: "\(zone)/temp") }
        _ = await monitor.look(within: .seconds(3600))
      }
      monitor.ownerSays(.paused(by: "alex", until: nil))
      let told = try #require(await news.receive())
      #expect(told.map { $0.thermal.raw.contains("46.0") } == [true, true])
      #expect(told.first?.owner == .accepting)
      run.cancel()
      await run.value
    }
  }

  @Test("the owner's word is told at once")
  func owner() async throws {
    try await MachineFolder.with { machine in
      let monitor = ConditionMonitor(
        Self.settings(machine, []), clocks: Self.clocks(MovingClock()), own: Self.idleOwn)
      let told = await Self.told(by: monitor) {
        if $0.owner == .accepting { monitor.saysLater(.paused(by: "alex", until: nil)) }
        return $0.owner != .accepting
      }
      #expect(told.map(\.owner) == [.accepting, .paused(by: "alex", until: nil)])
    }
  }
}

extension ConditionMonitor {
  /// Gives the owner's word from another thread. The listener itself must not call the monitor.
  fileprivate func saysLater(_ word: OwnersWord) { DispatchQueue.global().async { self.ownerSays(word) } }
}
