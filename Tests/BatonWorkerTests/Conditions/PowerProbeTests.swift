import BatonHost
import BatonModel
import BatonProcess
import ContractRows
import HostFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Power and battery by the kernel's supplies")
struct PowerProbeTests {
  @Test("a machine is read for what it is", .contract(22.3, 22.4), arguments: Machine.all)
  func machine(_ machine: Machine) throws {
    let readings = try MachineFolder.with(machine.files) { PowerProbe(root: $0.root).read() }
    #expect(readings.power.value == machine.power, "\(readings.power.raw)")
    #expect(readings.battery.value == machine.battery, "\(readings.battery.raw)")
    #expect(readings.power.source == "sysfs" && readings.battery.source == "sysfs")
    for words in machine.says {
      #expect(
        readings.power.raw.contains(words) || readings.battery.raw.contains(words),
        "\(readings.power.raw) | \(readings.battery.raw)")
    }
  }

  @Test("every machine of the table has a name of its own, and there are at least 25")
  func table() {
    #expect(Set(Machine.all.map(\.name)).count == Machine.all.count)
    #expect(Machine.all.count >= 25)
  }

  @Test("unplugging, plugging in and a supply that comes and goes count from the next reading on")
  func changes() throws {
    try MachineFolder.with(Supply.battery("BAT0", "Discharging", "50").files) { folder in
      let probe = PowerProbe(root: folder.root)
      let ac = "sys/class/power_supply/AC/online"
      #expect(probe.read().power.value == .battery)
      try folder.write("Mains", to: "sys/class/power_supply/AC/type")
      try folder.write("1", to: ac)
      try folder.write("Charging", to: "sys/class/power_supply/BAT0/status")
      #expect(probe.read().power.value == .external)
      try folder.write("0", to: ac)
      try folder.write("Discharging", to: "sys/class/power_supply/BAT0/status")
      #expect(probe.read().power.value == .battery)
      folder.remove("sys/class/power_supply/BAT0")
      folder.remove("sys/class/power_supply/AC")
      let readings = probe.read()
      #expect(readings.power == Reading(.external, source: "sysfs", raw: "no supplies"))
      #expect(readings.battery == Reading(nil, source: "sysfs", raw: "no battery"))
    }
  }

  @Test("a supply that is listed and gone before it is read says nothing")
  func vanished() throws {
    try MachineFolder.with(Supply.mains("AC", "0").files) { folder in
      let gone = folder.path + "/sys/class/power_supply/BAT0"
      #expect(symlink(folder.path + "/sys/devices/BAT0", gone) == 0)
      #expect(PowerProbe(root: folder.root).read().power.raw.contains("BAT0") == false)
    }
  }

  @Test("a folder that may not be listed is unknown, not a host without supplies")
  func refused() throws {
    try MachineFolder.with(["sys/class/power_supply": MachineFolder.unreadable]) { folder in
      let readings = PowerProbe(root: folder.root).read()
      let raw = "sys/class/power_supply: \(MachineFolder.refusal)"
      #expect(readings.power == Reading(nil, source: "sysfs", raw: raw))
      #expect(readings.battery.value == nil)
    }
  }

  @Test(
    "how near to full a battery may drain while plugged in is a setting",
    arguments: [(0, PowerSource.battery), (5, .external)])
  func margin(_ margin: Int, power: PowerSource) throws {
    let files = Machine("", [.mains("AC", "1"), .battery("BAT0", "Discharging", "97")], power: nil, battery: nil).files
    try MachineFolder.with(files) { #expect(PowerProbe(root: $0.root, fullMargin: margin).read().power.value == power) }
  }

  @Test("the machine that the tests run on can be read")
  func ownMachine() {
    let readings = PowerProbe(root: SystemRoot()).read()
    #expect(readings.power.raw.isEmpty == false)
    #expect(readings.battery.value.map { (0...100).contains($0) } ?? true)
  }
}
