import BatonBase
import BatonCoordinator
import BatonHandler
import BatonHost
import BatonModel
import BatonProcess
import BatonStore
import BatonWire
import BatonWorker
import ContractRows
import Foundation
import HostFixtures
import Synchronization
import Testing

/// Hosts whose conditions change while they work: whole workers with their probes, on simulated machines.
@Suite(.timeLimit(.minutes(10))) struct HostTests {
  static let name = "com.example.a"

  static func definition(_ change: (inout Definition) -> Void) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name)!, kind: .continued)
    definition.title = "Copying"
    change(&definition)
    return definition
  }

  /// A handler that commits one batch after the other. It reports each batch as it begins, and never ends the batch
  /// `stuckFrom` and later ones.
  static func batches(_ begun: Mailbox<(host: String, batch: Int64)>, on host: String, stuckFrom: Int64) -> Handler {
    { task in
      for batch in task.progress.completedUnits..<10 {
        begun.send((host, batch))
        // Sleeps until the launch expires. The batch is not committed then.
        if batch >= stuckFrom { try await Task.sleep(for: .seconds(3600)) }
        try await task.checkpoint(batch, completed: batch + 1, of: 10)
      }
    }
  }

  /// Settings with which a worker reads its conditions below `machine` only, and acts on changes at once.
  static func reading(_ machine: MachineFolder) -> (inout WorkerConfiguration) -> Void {
    { configuration in
      configuration.probesHost = true
      configuration.conditions.root = machine.root
      configuration.conditions.probes = [.power]
      configuration.conditions.returnAfter.power = .zero
    }
  }

  static let plugged = ["sys/class/power_supply/AC/type": "Mains", "sys/class/power_supply/AC/online": "1"]
  static let unplugged = plugged.merging(["sys/class/power_supply/AC/online": "0"]) { $1 }.merging([
    "sys/class/power_supply/BAT0/type": "Battery", "sys/class/power_supply/BAT0/status": "Discharging",
    "sys/class/power_supply/BAT0/capacity": "80",
  ]) { $1 }

  @Test(
    "unplugged in the middle of a batch it goes on elsewhere after its checkpoint, and may come back")
  func unplugging() async throws {
    let fleet = try Fleet()
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await MachineFolder.with(Self.plugged) { first in
      try await MachineFolder.with(Self.unplugged) { second in
        let begun = Mailbox<(host: String, batch: Int64)>(capacity: 1000)
        let workers = [
          fleet.worker(
            "first", folder: folder, [(Self.name, Self.batches(begun, on: "first", stuckFrom: 4))],
            configured: Self.reading(first)),
          fleet.worker(
            "second", folder: folder, [(Self.name, Self.batches(begun, on: "second", stuckFrom: 7))],
            configured: Self.reading(second)),
        ]
        try await fleet.run(workers) {
          try await fleet.attached(2)
          _ = try await fleet.coordinator.apply([Self.definition { $0.requirements.externalPower = true }])
          try await fleet.submit(Self.name)
          try await Self.until(begun, "first", 4)
          // The first is unplugged in the middle of its fifth batch, the second plugged in.
          try second.write("1", to: "sys/class/power_supply/AC/online")
          try second.write("Charging", to: "sys/class/power_supply/BAT0/status")
          try first.write("0", to: "sys/class/power_supply/AC/online")
          for (file, text) in Self.unplugged { try first.write(text, to: file) }
          try await Self.until(begun, "second", 7)
          let details = try await fleet.reached(Self.name) { $0.launches.count == 2 }
          #expect(details.launches[0].reason == "powerLost")
          #expect(details.launches[1].firstBatch == 4)
          // Now back: the first host is plugged in again and may take the job over from the second, which has to stop.
          for (file, text) in Self.plugged { try first.write(text, to: file) }
          try first.write("Charging", to: "sys/class/power_supply/BAT0/status")
          for (file, text) in Self.unplugged { try second.write(text, to: file) }
          try await Self.until(begun, "first", 7)
          _ = try await fleet.coordinator.cancel(.identifier(JobIdentifier(Self.name)!, number: nil), by: "test")
          _ = try await fleet.ended(Self.name)
        }
      }
    }
  }

  private static func until(_ begun: Mailbox<(host: String, batch: Int64)>, _ host: String, _ batch: Int64) async throws
  {
    while let found = await begun.receive() {
      if found.contains(where: { $0.host == host && $0.batch == batch }) { return }
    }
    throw Surprise("\(host) never began batch \(batch)")
  }

  @Test("the owner's pause expires what runs, is a reason for the operator, and holds over a restart")
  func pausing() async throws {
    let fleet = try Fleet()
    let folder = "/tmp/baton-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let begun = Mailbox<(host: String, batch: Int64)>(capacity: 1000)
    func worker() -> Worker {
      fleet.worker("desk", folder: folder, [(Self.name, Self.batches(begun, on: "desk", stuckFrom: 2))]) {
        $0.probesHost = true
        $0.conditions.probes = []
        $0.answersOwner = true
        $0.ownerSocket = folder + "/owner.sock"
      }
    }
    let owner = OwnerClient(path: folder + "/owner.sock")
    try await fleet.run([worker()]) {
      try await fleet.attached(1)
      _ = try await fleet.coordinator.apply([Self.definition { _ in }])
      try await fleet.submit(Self.name)
      try await Self.until(begun, "desk", 2)
      let (status, _) = try await owner.ask(.pause(for: nil))
      #expect(status.owner.state == "paused")
      let details = try await fleet.reached(Self.name) { $0.launches.last?.outcome != nil }
      #expect(details.launches.last?.reason == "pausedByOwner")
      try await fleet.hosts { $0.first?.state == .paused }
      let explained = try await fleet.coordinator.explain(JobIdentifier(Self.name)!, number: nil)
      #expect(explained.lines.map(\.code) == ["hostPausedByOwner"])
    }
    try await fleet.run([worker()]) {
      try await fleet.hosts { $0.first?.state == .paused }
      // The worker may need a moment until it listens for its owner.
      while (try? await owner.ask(.resume)) == nil { await Task.yield() }
      try await Self.until(begun, "desk", 2)
      _ = try await fleet.coordinator.cancel(.identifier(JobIdentifier(Self.name)!, number: nil), by: "test")
      _ = try await fleet.ended(Self.name)
    }
  }

  @Test(
    "a real UPS that goes on battery expires what runs",
    .enabled(if: NUTServer.isInstalled, "nut-server and nut-client are not installed, or this is not root"))
  func unplugsUPS() async throws {
    let fleet = try Fleet()
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let running = Mailbox<Void>(capacity: 10)
    let cancelled = Mutex<ContinuousClock.Instant?>(nil)
    try await NUTServer.with { server in
      let name = server.name
      let handler: Handler = { _ in
        running.send(())
        do { try await Task.sleep(for: .seconds(3600)) } catch {
          cancelled.withLock { $0 = .now }
          throw error
        }
      }
      let worker = fleet.worker("desk", folder: folder, [(Self.name, handler)]) {
        $0.probesHost = true
        $0.conditions.probes = [.ups]
        $0.conditions.ups = UPSSettings(watched: .named([name]))
        $0.conditions.returnAfter.power = .zero
      }
      let isVisible = Mutex<ContinuousClock.Instant?>(nil)
      try await fleet.run([worker]) {
        try await fleet.hosts { $0.first?.conditions.power.agrees(with: Reading(.external, source: "nut")) == true }
        _ = try await fleet.coordinator.apply([Self.definition { $0.requirements.externalPower = true }])
        try await fleet.submit(Self.name)
        _ = await running.receive()
        try server.set("OB DISCHRG", charge: 90)
        while isVisible.withLock({ $0 }) == nil {
          guard
            case .output("OB DISCHRG\n") = await SystemCommand.system.run(["upsc", name, "ups.status"], .seconds(5))
          else { continue }
          isVisible.withLock { $0 = .now }
        }
        let details = try await fleet.reached(Self.name) { $0.launches.last?.outcome != nil }
        #expect(details.launches.last?.reason == "powerLost")
        _ = try await fleet.coordinator.cancel(.identifier(JobIdentifier(Self.name)!, number: nil), by: "test")
      }
      if let seen = isVisible.withLock({ $0 }), let end = cancelled.withLock({ $0 }) {
        print("from the driver's change being visible to the handler's cancellation: \(end - seen) (3 s is promised)")
      }
    }
  }
}
