import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

@Suite(
  "Power by a real upsd", .serialized, .timeLimit(.minutes(10)),
  .enabled(if: NUTServer.isInstalled, "nut-server and nut-client are not installed, or this is not root"))
struct NUTTests {
  /// Reads until `isSo` returns true: upsd notices a change of its driver within seconds. If that never happens, the
  /// time limit of the suite ends the wait.
  private func read(_ probe: inout UPSProbe, until isSo: (PowerReadings?) -> Bool) async throws -> PowerReadings? {
    while true {
      let readings = await probe.read(at: Instant(nanoseconds: 0))
      if isSo(readings) { return readings }
      try await Task.sleep(for: .milliseconds(50), clock: .continuous)
    }
  }

  @Test("on line, on battery, low, and back on line; then without its driver, and without upsd")
  func life() async throws {
    try await NUTServer.with { server in
      var probe = UPSProbe(UPSSettings(watched: .named([server.name])))
      let first = try await read(&probe) { $0?.power.value == .external }
      #expect(first?.power == Reading(.external, source: "nut", raw: "\(server.name) OL 100 %"))
      #expect(first?.battery.value == 100)

      try server.set("OB DISCHRG", charge: 64)
      let unplugged = try await read(&probe) { $0?.power.value == .battery }
      #expect(unplugged?.battery.value == 64)

      try server.set("OB DISCHRG LB", charge: 45)
      let low = try await read(&probe) { $0?.battery.value != 64 }
      #expect(low?.power.value == .battery)
      #expect(low?.battery.value == Policy.lowBatteryPercent - 1)

      try server.set("OL CHRG", charge: 46)
      let back = try await read(&probe) { $0?.power.value == .external }
      #expect(back?.battery.value == 46)

      server.killDriver()
      let stale = try await read(&probe) { $0?.power.value != .external }
      #expect(["Data stale", "Driver not connected"].map { "\(server.name): \($0)" }.contains(stale?.power.raw))
      #expect(stale?.power.value == nil && stale?.battery.value == nil)

      server.killServer()
      let gone = try await read(&probe) { $0?.power.raw.contains("Connection failure") == true }
      #expect(gone?.power == Reading(nil, source: "nut", raw: "\(server.name): Connection failure: Connection refused"))

      try server.startDriver()
      try server.startServer()
      _ = try await read(&probe) { $0?.power.value == .external }
    }
  }

  @Test("auto finds what upsd lists; a host whose upsd is not there has no UPS, one whose upsd went away does not know")
  func list() async throws {
    try await NUTServer.with { server in
      let settings = UPSSettings(server: server.address, listInterval: .zero)
      var probe = UPSProbe(settings)
      let readings = try await read(&probe) { $0?.power.value == .external }
      #expect(readings?.power.raw == "\(server.name) OL 100 %")
      server.killServer()
      let gone = try await read(&probe) { $0?.power.value == nil }
      #expect(gone != nil)
      var other = UPSProbe(settings)
      #expect(await other.read(at: Instant(nanoseconds: 0)) == nil)
    }
  }

  @Test("a UPS that upsd does not have is unknown")
  func stranger() async throws {
    try await NUTServer.with { server in
      let name = "other@\(server.address)"
      var probe = UPSProbe(UPSSettings(watched: .named([name])))
      let readings = try await read(&probe) { $0?.power.raw.contains("Connection failure") == false }
      #expect(readings?.power == Reading(nil, source: "nut", raw: "\(name): Unknown UPS"))
    }
  }
}
