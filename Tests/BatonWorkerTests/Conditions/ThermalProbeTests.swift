import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

/// One zone of `sys/class/thermal`. All temperatures but `temp` are in °C.
private struct Zone: Sendable {
  var type: String
  /// The content of the file `temp`, in thousandths of a degree; `nil` if the zone has no such file.
  var temp: String?
  var trips: [(String, Int)] = []
  var mode = "enabled"

  init(_ type: String, _ celsius: Double, _ trips: (String, Int)..., mode: String = "enabled") {
    self.init(type, raw: String(Int(celsius * 1000)), trips, mode: mode)
  }

  init(_ type: String, raw temp: String?, _ trips: [(String, Int)], mode: String = "enabled") {
    (self.type, self.temp, self.trips, self.mode) = (type, temp, trips, mode)
  }

  static func folder(_ number: Int) -> String { "sys/class/thermal/thermal_zone\(number)" }

  static func files(_ zones: [Zone]) -> MachineFolder.Files {
    var files: MachineFolder.Files = ["sys/class/thermal/cooling_device0/type": "Processor"]
    for (number, zone) in zones.enumerated() {
      let folder = folder(number)
      files["\(folder)/type"] = zone.type
      files["\(folder)/mode"] = zone.mode
      files["\(folder)/temp"] = zone.temp
      for (index, trip) in zone.trips.enumerated() {
        files["\(folder)/trip_point_\(index)_type"] = trip.0
        files["\(folder)/trip_point_\(index)_temp"] = String(trip.1 * 1000)
      }
    }
    return files
  }
}

private struct Heat: Sendable, CustomTestStringConvertible {
  var name: String
  var zones: [Zone]
  var state: ThermalState?
  var raw: String
  var testDescription: String { name }

  init(_ name: String, _ zones: Zone..., state: ThermalState?, raw: String) {
    (self.name, self.zones, self.state, self.raw) = (name, zones, state, raw)
  }

  static let laptops: [Heat] = [
    Heat("no zone", state: nil, raw: "no thermal zones"),
    Heat(
      "desktop whose zone never moves", Zone("acpitz", 27.8, ("critical", 119)), state: .nominal,
      raw: "acpitz 27.8 of 119.0 °C (critical)"),
    Heat(
      "laptop at rest", Zone("acpitz", 45, ("critical", 128), ("passive", 108)),
      Zone("x86_pkg_temp", 47, ("critical", 100)), state: .nominal, raw: "x86_pkg_temp 47.0 of 100.0 °C (critical)"),
    Heat(
      "laptop that is warm", Zone("acpitz", 27.8, ("critical", 119)), Zone("x86_pkg_temp", 80, ("critical", 100)),
      state: .fair, raw: "x86_pkg_temp 80.0 of 100.0 °C (critical)"),
    Heat(
      "laptop under load", Zone("x86_pkg_temp", 94, ("critical", 100)), state: .serious,
      raw: "x86_pkg_temp 94.0 of 100.0 °C (critical)"),
    Heat(
      "laptop about to shut down", Zone("x86_pkg_temp", 97, ("critical", 100)), state: .critical,
      raw: "x86_pkg_temp 97.0 of 100.0 °C (critical)"),
    Heat(
      "package without trips, its thresholds set by a program",
      Zone("x86_pkg_temp", 75, ("passive", 70), ("passive", 0)),
      state: .nominal, raw: "x86_pkg_temp 75.0 of 105.0 °C (assumed)"),
    Heat(
      "package without trips that is hot", Zone("x86_pkg_temp", 95), state: .serious,
      raw: "x86_pkg_temp 95.0 of 105.0 °C (assumed)"),
    Heat(
      "firmware that throttles at its passive trip", Zone("acpitz", 96, ("critical", 128), ("passive", 95)),
      state: .serious, raw: "acpitz 96.0 of 95.0 °C (passive)"),
    Heat(
      "passive trip that is switched off", Zone("acpitz", 60, ("passive", 0), ("critical", 110)), state: .nominal,
      raw: "acpitz 60.0 of 110.0 °C (critical)"),
    Heat("only a trip that is switched off", Zone("INT3400", 20, ("passive", 0)), state: nil, raw: "no thermal zones"),
    Heat(
      "trips that make no sense", Zone("acpitz", 41, ("hot", 240), ("critical", 20), ("critical", -274)), state: nil,
      raw: "no thermal zones"),
    Heat(
      "skin of a tablet near its hot trip", Zone("GEN2", 51.5, ("hot", 54)), state: .serious,
      raw: "GEN2 51.5 of 54.0 °C (hot)"),
    Heat(
      "skin of a tablet at its hot trip", Zone("GEN2", 54, ("hot", 54)), state: .critical,
      raw: "GEN2 54.0 of 54.0 °C (hot)"),
  ]

  static let others: [Heat] = [
    Heat(
      "Raspberry Pi 4 at rest", Zone("cpu-thermal", 52.5, ("critical", 90)), state: .nominal,
      raw: "cpu-thermal 52.5 of 90.0 °C (critical)"),
    Heat(
      "Raspberry Pi 4 that throttles", Zone("cpu-thermal", 82.3, ("critical", 90)), state: .serious,
      raw: "cpu-thermal 82.3 of 90.0 °C (critical)"),
    Heat(
      "Raspberry Pi 5 whose fan runs",
      Zone("cpu-thermal", 68, ("critical", 110), ("active", 50), ("active", 60), ("active", 67), ("active", 75)),
      state: .nominal, raw: "cpu-thermal 68.0 of 75.0 °C (active)"),
    Heat(
      "Raspberry Pi 5 whose fan runs as fast as it can",
      Zone("cpu-thermal", 76, ("critical", 110), ("active", 50), ("active", 60), ("active", 67), ("active", 75)),
      state: .fair, raw: "cpu-thermal 76.0 of 75.0 °C (active)"),
    Heat(
      "fan that starts early", Zone("acpitz", 55, ("active", 40), ("critical", 105)), state: .nominal,
      raw: "acpitz 55.0 of 105.0 °C (critical)"),
    Heat(
      "ARM board that prepares to throttle",
      Zone("soc-thermal", 76, ("passive", 75), ("passive", 85), ("critical", 115)),
      state: .fair, raw: "soc-thermal 76.0 of 85.0 °C (passive)"),
    Heat(
      "ARM board that throttles", Zone("soc-thermal", 85, ("passive", 75), ("passive", 85), ("critical", 115)),
      state: .serious, raw: "soc-thermal 85.0 of 85.0 °C (passive)"),
    Heat(
      "the hottest of several decides", Zone("cpu0-thermal", 60, ("critical", 110)),
      Zone("gpu-thermal", 101, ("critical", 110)), Zone("cpu1-thermal", 75, ("critical", 110)), state: .serious,
      raw: "gpu-thermal 101.0 of 110.0 °C (critical)"),
    Heat(
      "wireless card that is hot", Zone("iwlwifi_1", 79, ("passive", 70)), Zone("acpitz", 30, ("critical", 100)),
      state: .nominal, raw: "acpitz 30.0 of 100.0 °C (critical)"),
    Heat("battery and drive without trips", Zone("BAT0", 38), Zone("nvme", 84), state: nil, raw: "no thermal zones"),
    Heat(
      "zone that is switched off", Zone("acpitz", 99, ("critical", 100), mode: "disabled"),
      Zone("cpu-thermal", 40, ("critical", 100)), state: .nominal, raw: "cpu-thermal 40.0 of 100.0 °C (critical)"),
    Heat(
      "cold room", Zone("cpu-thermal", -12.5, ("critical", 100)), state: .nominal,
      raw: "cpu-thermal -12.5 of 100.0 °C (critical)"),
  ]

  static let unreadable: [Heat] =
    ["banana", "", "-274000", "255000", MachineFolder.unreadable].map {
      Heat(
        "zone that says \($0.filter { $0 != "\0" })", Zone("acpitz", raw: $0, [("critical", 100)]), state: nil,
        raw: $0 == MachineFolder.unreadable ? "acpitz: \(MachineFolder.refusal)" : "acpitz: '\($0)'")
    } + [
      Heat(
        "one zone cannot be read", Zone("acpitz", raw: nil, [("critical", 100)]),
        Zone("cpu-thermal", 91, ("critical", 100)), state: .serious, raw: "cpu-thermal 91.0 of 100.0 °C (critical)")
    ]
}

@Suite("Thermal state by the kernel's zones")
struct ThermalProbeTests {
  private let start = Instant(nanoseconds: 0)
  private let zone = Zone.folder(0)

  @Test("a machine is as hot as its worst zone says", arguments: Heat.laptops + Heat.others + Heat.unreadable)
  private func machine(_ heat: Heat) throws {
    let reading = try MachineFolder.with(Zone.files(heat.zones)) { folder in
      var probe = ThermalProbe(root: folder.root)
      return probe.read(at: start)
    }
    #expect(reading == Reading(heat.state, source: "sysfs", raw: heat.raw))
  }

  @Test("a state ends only once it is three degrees cooler")
  func hysteresis() throws {
    try MachineFolder.with(Zone.files([Zone("acpitz", 79, ("critical", 100))])) { folder in
      var probe = ThermalProbe(root: folder.root)
      var states: [ThermalState?] = []
      for celsius in [79, 80, 79, 77, 76, 91, 88, 86, 98, 95, 93, 40] {
        try folder.write(String(celsius * 1000), to: "\(zone)/temp")
        states.append(probe.read(at: start).value)
      }
      #expect(
        states == [
          .nominal, .fair, .fair, .fair, .nominal, .serious, .serious, .fair, .critical, .critical, .serious, .nominal,
        ])
    }
  }

  @Test("a zone that appears counts at once, and a trip that changes within a minute")
  func rescan() throws {
    try MachineFolder.with(Zone.files([Zone("acpitz", 50, ("critical", 100))])) { folder in
      var probe = ThermalProbe(root: folder.root)
      #expect(probe.read(at: start).value == .nominal)
      try folder.write("60000", to: "\(zone)/trip_point_0_temp")
      #expect(probe.read(at: start + .seconds(59)).value == .nominal)
      #expect(probe.read(at: start + .seconds(60)).value == .serious)
      for (file, contents) in Zone.files([Zone("acpitz", 50, ("critical", 60)), Zone("gpu", 99, ("critical", 100))]) {
        try folder.write(contents, to: file)
      }
      #expect(probe.read(at: start + .seconds(61)).value == .critical)
      folder.remove("sys/class/thermal")
      #expect(probe.read(at: start + .seconds(62)) == Reading(nil, source: "sysfs", raw: "no thermal zones"))
    }
  }

  private static func counter(_ cpu: Int, _ kind: String = "package") -> String {
    "sys/devices/system/cpu/cpu\(cpu)/thermal_throttle/\(kind)_throttle_count"
  }

  private static func package(of cpu: Int) -> String { "sys/devices/system/cpu/cpu\(cpu)/topology/physical_package_id" }

  @Test("a processor that throttles is serious for ten seconds after it last did", arguments: ["package", "core"])
  func throttling(kind: String) throws {
    var files = Zone.files([Zone("acpitz", 40, ("critical", 100))])
    for cpu in 0..<4 { files[Self.package(of: cpu)] = String(cpu / 2) }
    for cpu in 0..<4 { files[Self.counter(cpu, kind)] = "7" }
    files["sys/devices/system/cpu/cpufreq/boost"] = "1"
    try MachineFolder.with(files) { folder in
      var probe = ThermalProbe(root: folder.root)
      func state(at seconds: Int) -> ThermalState? { probe.read(at: start + .seconds(seconds)).value }
      #expect(state(at: 0) == .nominal)
      try folder.write("8", to: Self.counter(2, kind))
      #expect(
        probe.read(at: start + .seconds(1))
          == Reading(.serious, source: "sysfs", raw: "acpitz 40.0 of 100.0 °C (critical); the processor throttles"))
      #expect(state(at: 10) == .serious)
      #expect(state(at: 11) == .nominal)
      try folder.write("3", to: Self.counter(2, kind))
      #expect(state(at: 12) == .nominal)
      try folder.write("4", to: Self.counter(2, kind))
      #expect(state(at: 13) == .serious)
    }
  }

  @Test("one CPU of each package is asked")
  func packages() throws {
    var files = Zone.files([Zone("acpitz", 40, ("critical", 100))])
    for cpu in 0..<2 { files[Self.package(of: cpu)] = "0" }
    for cpu in 0..<2 { files[Self.counter(cpu)] = "0" }
    try MachineFolder.with(files) { folder in
      var probe = ThermalProbe(root: folder.root)
      _ = probe.read(at: start)
      try folder.write("1", to: Self.counter(1))
      #expect(probe.read(at: start).value == .nominal)
    }
  }

  @Test("throttling says something where no zone does, and does not hide what is worse")
  func worse() throws {
    try MachineFolder.with([Self.counter(0): "0"]) { folder in
      var probe = ThermalProbe(root: folder.root)
      #expect(probe.read(at: start).value == nil)
      try folder.write("1", to: Self.counter(0))
      #expect(probe.read(at: start).value == .serious)
      for (file, contents) in Zone.files([Zone("acpitz", 99, ("critical", 100))]) {
        try folder.write(contents, to: file)
      }
      #expect(probe.read(at: start).value == .critical)
    }
  }

  @Test("what counts as hot is a setting")
  func settings() throws {
    let files = Zone.files([Zone("acpitz", 70, ("critical", 100))])
    try MachineFolder.with(files) { folder in
      var probe = ThermalProbe(root: folder.root, settings: ThermalSettings(fairMargin: 40, seriousMargin: 30))
      #expect(probe.read(at: start).value == .serious)
    }
  }
}
