import BatonProcess

/// One folder of `sys/class/power_supply` as it was read: what it says, and in words for people what could not be
/// understood.
struct PowerSupply {
  enum Kind {
    /// An adapter.
    case mains
    /// A USB port, USB-C with or without Power Delivery, or a charging pad.
    case otherLine
    /// A battery that feeds the host. A UPS with a kernel driver counts as a battery.
    case battery
    /// Neither the type nor the files of the supply tell its kind.
    case unclear
  }

  /// The status as the kernel spells it. The kernel's `Unknown` has no case.
  enum Status: String {
    case charging = "Charging"
    case discharging = "Discharging"
    case notCharging = "Not charging"
    case full = "Full"
  }

  let name: String
  let kind: Kind
  private(set) var isOnline: Bool?
  private(set) var status: Status?
  /// In per cent, 0 to 100.
  private(set) var charge: Double?
  /// In µWh.
  private(set) var energyWhenFull: Double?
  /// In µAh.
  private(set) var chargeWhenFull: Double?
  /// The charge up to which firmware charges the battery, in per cent.
  private var chargeLimit = 100
  private var statusComplaint = ""
  private var chargeComplaint = ""

  /// - Returns: `nil` if the folder is not a supply that feeds the host: the battery of a peripheral, a bay without a
  ///   battery, or a supply that has vanished.
  init?(named name: String, in folder: String, of root: SystemRoot) {
    guard root.string("\(folder)/scope") != "Device", root.exists(folder) else { return nil }
    self.name = name
    let files = Files(root: root, folder: folder, supply: name)
    kind = Self.kind(files)
    switch kind {
    case .mains, .otherLine: readLine(files)
    case .battery:
      if files.number("present") == 0 { return nil }
      readBattery(files)
    case .unclear: statusComplaint = files.complaint(about: "type")
    }
    // If the supply was removed while it was read, its values mean nothing.
    if !root.exists(folder) { return nil }
  }

  /// Derives the kind from the supply's type (older kernels have `USB_C`, `USB_PD` and so on), or from its files if the
  /// type does not tell.
  private static func kind(_ files: Files) -> Kind {
    let type = files.text("type") ?? ""
    if type == "Mains" { return .mains }
    if type == "Battery" || type == "UPS" { return .battery }
    if type == "Wireless" || type == "BrickID" || type.hasPrefix("USB") { return .otherLine }
    if files.text("status") != nil || files.text("capacity") != nil { return .battery }
    return files.text("online") != nil ? .otherLine : .unclear
  }

  /// `online` is 0 for offline, 1 for online with a fixed voltage, 2 for online with a programmable voltage.
  private mutating func readLine(_ files: Files) {
    switch files.number("online") {
    case 0: isOnline = false
    case 1, 2: isOnline = true
    default: statusComplaint = files.complaint(about: "online")
    }
  }

  private mutating func readBattery(_ files: Files) {
    let status = files.text("status")
    self.status = status.flatMap(Status.init)
    if self.status == nil {
      statusComplaint = status == "Unknown" ? "\(name) Unknown" : files.complaint(about: "status")
    }
    energyWhenFull = files.amount("energy_full")
    chargeWhenFull = files.amount("charge_full")
    charge =
      capacity(files) ?? files.ratio("energy_now", of: energyWhenFull) ?? files.ratio("charge_now", of: chargeWhenFull)
    if charge == nil { chargeComplaint = files.complaint(about: "capacity") }
    guard self.status == .discharging, let limit = files.number("charge_control_end_threshold") else { return }
    if (1...100).contains(limit) { chargeLimit = limit }
  }

  /// A value a little above 100 counts as full: the firmware's value for the full charge is out of date. Any other
  /// value outside the range is ignored.
  private func capacity(_ files: Files) -> Double? {
    guard let percent = files.number("capacity"), (0...150).contains(percent) else { return nil }
    return Double(min(percent, 100))
  }

  /// Whether the charge is at most `margin` per cent below the limit up to which the battery is charged.
  func isFull(within margin: Int) -> Bool { charge.map { $0 >= Double(chargeLimit - margin) } ?? false }

  /// The supply in words for people, such as `AC online=1` or `BAT0 Charging 83 %`.
  var summary: String {
    if kind != .battery { return isOnline.map { "\(name) online=\($0 ? 1 : 0)" } ?? statusComplaint }
    let percent = charge.map { " \(Int($0)) %" } ?? ""
    return status.map { "\(name) \($0.rawValue)\(percent)" } ?? "\(statusComplaint)\(percent)"
  }

  var chargeSummary: String { charge.map { "\(name) \(Int($0)) %" } ?? chargeComplaint }
}

extension PowerSupply {
  /// The files of one supply in sysfs.
  fileprivate struct Files {
    let root: SystemRoot
    let folder: String
    let supply: String

    func text(_ file: String) -> String? { root.string("\(folder)/\(file)") }
    func number(_ file: String) -> Int? { root.number("\(folder)/\(file)") }
    /// The number in the file if it is above zero, otherwise `nil`.
    func amount(_ file: String) -> Double? { number(file).flatMap { $0 > 0 ? Double($0) : nil } }

    /// The number in the file as a share of `full`, in per cent.
    func ratio(_ file: String, of full: Double?) -> Double? {
      guard let full, let now = number(file), now >= 0 else { return nil }
      return min(Double(now) / full * 100, 100)
    }

    /// Why the file was not understood, such as `AC/online: 'banana'`.
    func complaint(about file: String) -> String { "\(supply)/\(file): \(root.complaint(about: "\(folder)/\(file)"))" }
  }
}

extension SystemRoot {
  /// The content of a file that was not understood, for people: in quotes, at most 40 characters, without control
  /// characters.
  func complaint(about file: String) -> String {
    switch text(file) {
    case .text(let text):
      "'" + String(String.UnicodeScalarView(text.unicodeScalars.prefix(40).filter { $0.value >= 0x20 })) + "'"
    case .missing: "missing"
    case .unreadable(let why): why
    }
  }
}
