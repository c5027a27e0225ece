import BatonModel
import HostFixtures
import Testing

/// A machine: the files of its power supplies, with the power source and the charge that must be read from them.
struct Machine: Sendable, CustomTestStringConvertible {
  var name: String
  var files: MachineFolder.Files
  var power: PowerSource?
  var battery: Int?
  /// Texts of which each must be in the raw reading of the power source or of the battery.
  var says: [String]

  var testDescription: String { name }

  init(
    _ name: String, _ supplies: [Supply] = [], power: PowerSource?, battery: Int?, says: String...
  ) {
    self.name = name
    files = supplies.reduce(into: [:]) { $0.merge($1.files) { $1 } }
    self.power = power
    self.battery = battery
    self.says = says
  }
}

/// One folder of `sys/class/power_supply`.
struct Supply: Sendable {
  var files: MachineFolder.Files

  init(_ name: String, _ files: [String: String]) {
    let pairs = files.map { ("sys/class/power_supply/\(name)/\($0.key)", $0.value) }
    self.files = Dictionary(uniqueKeysWithValues: pairs)
  }

  static func mains(_ name: String, _ online: String) -> Supply {
    Supply(name, ["type": "Mains", "online": online])
  }

  static func port(_ number: Int, _ online: String, type: String = "[C] PD PD_PPS") -> Supply {
    Supply(
      "ucsi-source-psy-USBC000:00\(number)", ["type": "USB", "online": online, "usb_type": type, "scope": "Unknown"])
  }

  static func battery(
    _ name: String, _ status: String, _ capacity: String?, _ more: [String: String] = [:]
  )
    -> Supply
  {
    var files = ["type": "Battery", "present": "1", "status": status]
    files["capacity"] = capacity
    return Supply(name, files.merging(more) { $1 })
  }

  static func energy(_ now: Int, _ full: Int) -> [String: String] {
    ["energy_now": String(now), "energy_full": String(full)]
  }

  static func charge(_ now: Int, _ full: Int) -> [String: String] {
    ["charge_now": String(now), "charge_full": String(full)]
  }

  static func peripheral(_ name: String, _ capacity: String, _ status: String = "Discharging") -> Supply {
    battery(name, status, capacity, ["scope": "Device"])
  }
}

extension Machine {
  static let unplugged: [Machine] = [
    Machine(
      "laptop on battery", [.mains("AC", "0"), .battery("BAT0", "Discharging", "64")], power: .battery, battery: 64,
      says: "AC online=0; BAT0 Discharging 64 %"),
    Machine(
      "laptop on battery that is low", [.mains("ADP1", "0"), .battery("BAT1", "Discharging", "7")],
      power: .battery, battery: 7),
    Machine(
      "two batteries on battery, one rests",
      [
        .mains("AC", "0"), .battery("BAT0", "Not charging", "100", Supply.energy(23_000_000, 23_000_000)),
        .battery("BAT1", "Discharging", "40", Supply.energy(28_800_000, 72_000_000)),
      ],
      power: .battery, battery: 54),
    Machine(
      "two batteries on battery, one empty",
      [
        .mains("AC", "0"), .battery("BAT0", "Discharging", "50", Supply.energy(11_500_000, 23_000_000)),
        .battery("BAT1", "Unknown", "0", Supply.energy(0, 23_000_000)),
      ],
      power: .battery, battery: 25, says: "BAT1 Unknown"),
    Machine(
      "two batteries that do not say what they hold",
      [
        .mains("AC", "0"), .battery("BAT0", "Discharging", "30"),
        .battery("BAT1", "Discharging", "61"),
      ], power: .battery, battery: 45),
    Machine(
      "USB-C laptop on battery", [.port(1, "0"), .port(2, "0"), .battery("BAT0", "Discharging", "55")],
      power: .battery, battery: 55),
    Machine(
      "USB-C laptop with a broken battery gauge on battery",
      [
        .mains("AC", "0"), .port(1, "0"),
        .battery("BAT0", "Unknown", "55"),
      ], power: .battery, battery: 55),
    Machine(
      "ARM laptop without any line supply, on battery",
      [.battery("qcom-battmgr-bat", "Discharging", nil, Supply.energy(20_000_000, 50_000_000))],
      power: .battery, battery: 40),
    Machine(
      "adapter stuck at online, unplugged", [.mains("AC", "1"), .battery("BAT0", "Discharging", "83")],
      power: .battery, battery: 83, says: "AC online=1", "BAT0 Discharging 83 %", "but the battery drains"),
    Machine(
      "weak USB charger", [.port(1, "1", type: "[SDP] DCP CDP"), .battery("BAT0", "Discharging", "31")],
      power: .battery, battery: 31, says: "but the battery drains"),
    Machine(
      "port stuck at online beside an adapter that is not, full",
      [.mains("macsmc-ac", "0"), .port(1, "1"), .battery("macsmc-battery", "Discharging", "100")],
      power: .battery, battery: 100, says: "macsmc-ac online=0", "a port reports online"),
    Machine(
      "adapter stuck at online, two batteries, one drains",
      [.mains("AC", "1"), .battery("BAT0", "Discharging", "60"), .battery("BAT1", "Full", "100")],
      power: .battery, battery: 80),
    Machine(
      "UPS in the kernel on battery", [Supply("ups0", ["type": "UPS", "status": "Discharging", "capacity": "91"])],
      power: .battery, battery: 91),
    Machine(
      "Steam Deck in the hand",
      [
        .mains("ACAD", "0"),
        .battery(
          "BAT1", "Discharging", "77",
          Supply.charge(3_800_000, 4_900_000)),
      ], power: .battery, battery: 77),
    Machine(
      "adapter that cannot be read, unplugged",
      [.mains("AC", MachineFolder.unreadable), .battery("BAT0", "Discharging", "50")],
      power: .battery, battery: 50, says: "AC/online: \(MachineFolder.refusal)"),
    Machine(
      "supply without a type, told by its files, on battery",
      [Supply("AC", ["online": "0"]), Supply("battery", ["status": "Discharging", "capacity": "33"])],
      power: .battery, battery: 33),
    Machine(
      "low battery beside a charged mouse",
      [
        .mains("AC", "0"), .battery("BAT0", "Discharging", "12"),
        .peripheral("hidpp_battery_0", "95", "Full"),
      ], power: .battery, battery: 12),
  ]

  static let plugged: [Machine] = [
    Machine("desktop without any supply", power: .external, battery: nil, says: "no supplies", "no battery"),
    Machine("server with one adapter", [.mains("AC", "1")], power: .external, battery: nil, says: "AC online=1"),
    Machine(
      "desktop with a mouse that is low", [.peripheral("hidpp_battery_0", "4")], power: .external, battery: nil,
      says: "no supplies"),
    Machine(
      "laptop on AC", [.mains("AC", "1"), .battery("BAT0", "Charging", "83")], power: .external, battery: 83,
      says: "AC online=1; BAT0 Charging 83 %"),
    Machine(
      "laptop on AC with line breaks of another system", [.mains("AC", "1\r"), .battery("BAT0", "Full\r", "100\r")],
      power: .external, battery: 100),
    Machine(
      "laptop on AC, full, beside a headset that is low",
      [
        .mains("AC", "1"), .battery("BAT0", "Full", "100"),
        .peripheral("headset", "3"),
      ], power: .external, battery: 100),
    Machine(
      "two batteries on AC, one waits",
      [
        .mains("AC", "1"), .battery("BAT0", "Charging", "20", Supply.energy(4_600_000, 23_000_000)),
        .battery("BAT1", "Unknown", "80", Supply.energy(18_400_000, 23_000_000)),
      ],
      power: .external, battery: 50),
    Machine(
      "two batteries on AC, one charges from the other",
      [.mains("AC", "1"), .battery("BAT0", "Charging", "20"), .battery("BAT1", "Discharging", "80")],
      power: .external, battery: 50),
    Machine(
      "USB-C laptop on one of four ports",
      [.port(1, "0"), .port(2, "0"), .port(3, "1"), .port(4, "0"), .battery("BAT0", "Charging", "41")],
      power: .external, battery: 41),
    Machine("single board on programmable Power Delivery", [.port(1, "2")], power: .external, battery: nil),
    Machine(
      "programmable Power Delivery", [.port(1, "2"), .battery("BAT0", "Charging", "70")], power: .external, battery: 70),
    Machine(
      "full, and drains by design while plugged in", [.mains("ACAD", "1"), .battery("BAT1", "Discharging", "99")],
      power: .external, battery: 99, says: "by design"),
    Machine(
      "drains by design at its charge limit",
      [.mains("AC", "1"), .battery("BAT0", "Discharging", "78", ["charge_control_end_threshold": "80"])],
      power: .external, battery: 78, says: "by design"),
    Machine(
      "adapter stuck at offline, charging", [.mains("AC", "0"), .battery("BAT0", "Charging", "55")],
      power: .external, battery: 55, says: "AC online=0", "BAT0 Charging 55 %",
      "reported as offline, but no battery drains"),
    Machine(
      "adapter stuck at offline, full", [.mains("AC", "0"), .battery("BAT0", "Full", "100")], power: .external,
      battery: 100,
      says: "reported as offline, but no battery drains"),
    Machine(
      "adapter at offline, charge limit reached", [.mains("AC", "0"), .battery("BAT0", "Not charging", "80")],
      power: .external, battery: 80),
    Machine(
      "adapter at offline, no battery in it",
      [.mains("AC", "0"), .battery("BAT0", "Unknown", nil, ["present": "0"])], power: .external, battery: nil,
      says: "AC online=0"),
    Machine(
      "tablet on a charging pad",
      [
        .port(1, "0"), Supply("wireless", ["type": "Wireless", "online": "1"]),
        .battery("BAT0", "Charging", "18"),
      ], power: .external, battery: 18),
    Machine(
      "telephone", [Supply("usb", ["type": "USB", "online": "1"]), .battery("battery", "Unknown", "66")],
      power: .external, battery: 66),
    Machine(
      "old kernel's USB type", [Supply("charger", ["type": "USB_PD", "online": "1"])], power: .external, battery: nil),
    Machine(
      "ARM laptop without any line supply, charging", [.battery("BAT0", "Charging", "90")], power: .external,
      battery: 90),
    Machine(
      "UPS in the kernel on line", [Supply("ups0", ["type": "UPS", "status": "Full", "capacity": "100"])],
      power: .external, battery: 100),
    Machine(
      "single board with a PoE hat", [Supply("rpi-poe", ["type": "Mains", "online": "1"])], power: .external,
      battery: nil),
    Machine(
      "Steam Deck in its dock",
      [
        .mains("ACAD", "1"),
        .battery(
          "BAT1", "Full", "100",
          Supply.charge(4_900_000, 4_900_000)),
      ], power: .external, battery: 100),
    Machine(
      "port that feeds a telephone",
      [
        Supply(
          "ucsi-source-psy-USBC000:001",
          ["type": "USB", "online": "1", "scope": "Device"]), .mains("AC", "1"), .battery("BAT0", "Charging", "44"),
      ],
      power: .external, battery: 44),
    Machine(
      "adapter that says nonsense, charging", [.mains("AC", "banana"), .battery("BAT0", "Charging", "60")],
      power: .external,
      battery: 60, says: "AC/online: 'banana'"),
  ]

  static let charges: [Machine] = [
    Machine("charge above full", [.mains("AC", "1"), .battery("BAT0", "Full", "104")], power: .external, battery: 100),
    Machine(
      "charge far above full", [.mains("AC", "1"), .battery("BAT0", "Charging", "255")], power: .external, battery: nil,
      says: "BAT0/capacity: '255'"),
    Machine(
      "negative charge", [.mains("AC", "1"), .battery("BAT0", "Charging", "-1")], power: .external, battery: nil,
      says: "BAT0/capacity: '-1'"),
    Machine(
      "nonsense, and energy", [.mains("AC", "0"), .battery("BAT0", "Discharging", "?", Supply.energy(10, 40))],
      power: .battery,
      battery: 25),
    Machine(
      "energy only", [.mains("AC", "0"), .battery("BAT0", "Discharging", nil, Supply.energy(19_990_000, 100_000_000))],
      power: .battery, battery: 19),
    Machine(
      "charge only", [.mains("AC", "0"), .battery("BAT0", "Discharging", nil, Supply.charge(1_000_000, 4_000_000))],
      power: .battery, battery: 25),
    Machine(
      "energy above full", [.mains("AC", "1"), .battery("BAT0", "Full", nil, Supply.energy(50, 40))], power: .external,
      battery: 100),
    Machine(
      "nothing is full", [.mains("AC", "0"), .battery("BAT0", "Discharging", nil, Supply.energy(10, 0))],
      power: .battery,
      battery: nil, says: "BAT0/capacity: missing"),
    Machine(
      "charge that cannot be read", [.mains("AC", "0"), .battery("BAT0", "Discharging", MachineFolder.unreadable)],
      power: .battery, battery: nil, says: "BAT0/capacity: \(MachineFolder.refusal)"),
    Machine(
      "one of two charges is known",
      [
        .mains("AC", "0"), .battery("BAT0", "Discharging", nil),
        .battery("BAT1", "Discharging", "40"),
      ], power: .battery, battery: 40, says: "BAT0/capacity: missing"),
  ]

  static let unclear: [Machine] = [
    Machine(
      "adapter that says nonsense", [.mains("AC", "banana")], power: nil, battery: nil, says: "AC/online: 'banana'"),
    Machine("adapter that says nothing", [.mains("AC", "")], power: nil, battery: nil, says: "AC/online: ''"),
    Machine(
      "adapter without the file", [Supply("AC", ["type": "Mains"])], power: nil, battery: nil,
      says: "AC/online: missing"),
    Machine("battery that says nothing", [.battery("BAT0", "", "")], power: nil, battery: nil, says: "BAT0/status: ''"),
    Machine(
      "battery that cannot be read", [.battery("BAT0", MachineFolder.unreadable, "50")], power: nil, battery: 50,
      says: "BAT0/status: \(MachineFolder.refusal)"),
    Machine(
      "battery whose status nobody knows", [.battery("BAT0", "Unknown", "50")], power: nil, battery: 50,
      says: "BAT0 Unknown"),
    Machine(
      "battery in words that are not the kernel's", [.battery("BAT0", "entladen", "50")], power: nil, battery: 50,
      says: "BAT0/status: 'entladen'"),
    Machine(
      "adapter that cannot be read, battery unknown",
      [.mains("AC", MachineFolder.unreadable), .battery("BAT0", "Unknown", "50")], power: nil, battery: 50,
      says: "AC/online: \(MachineFolder.refusal)"),
    Machine(
      "empty folder of a supply", [Supply("mystery", ["power": MachineFolder.folder])], power: nil, battery: nil,
      says: "mystery/type: missing"),
  ]

  static let all = unplugged + plugged + charges + unclear
}
