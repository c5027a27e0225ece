import BatonProcess

/// The input devices that people operate, and the files that show their use. To list them takes reads of some dozens of
/// files, so `InputDevices` does it only every 10 s.
struct InputInventory: Hashable, Sendable {
  /// How a device is connected (`id/bustype`, <linux/input.h>).
  enum Bus: Hashable, Sendable {
    case usb, ps2, i2c
    /// Made by a program from other devices. Those devices are in the list themselves.
    case virtual
    case other
  }

  /// The bus of each device, by the device's name, such as `event3`.
  private(set) var devices: [String: Bus] = [:]
  /// The folders of USB devices that are keyboards or mice and nothing else.
  private(set) var usb: [String] = []
  /// The last words of those lines in `proc/interrupts` that belong to input devices.
  private(set) var interrupts: Set<String> = []

  init(root: SystemRoot) {
    let classes = root.names(in: "sys/class/input")
    let names = classes.isEmpty ? root.names(in: "dev/input") : classes
    for name in names where name.hasPrefix("event") {
      let folder = "sys/class/input/\(name)/device"
      // A device that is in /dev only, as in a container, may be of any kind. It counts as a device for people.
      let isUnknown = classes.isEmpty
      guard isUnknown || InputCapabilities(root: root, folder: folder).isForPeople else { continue }
      devices[name] = Self.bus(root.string("\(folder)/id/bustype") ?? "")
    }
    if devices.values.contains(.usb) { usb = Self.usbDevices(root) }
    if devices.values.contains(.ps2) { interrupts.insert("i8042") }
    if devices.values.contains(.i2c) { interrupts.formUnion(Self.i2cDevices(root)) }
  }

  private static func bus(_ number: String) -> Bus {
    switch number {
    case "0003": .usb
    case "0011": .ps2
    case "0018": .i2c
    case "0006": .virtual
    default: .other
    }
  }

  /// The folders of USB devices whose transfers show that a person uses them, such as `sys/bus/usb/devices/1-2`.
  ///
  /// `urbnum` counts the transfers of a whole device (Linux, Documentation/ABI/testing/sysfs-bus-usb). The device must
  /// therefore have interfaces of class 03 (HID) only: a headset with buttons transfers sound all the time. And one of
  /// the interfaces must be operated by people: an uninterruptible power supply is a HID device too, and reports all
  /// the time.
  private static func usbDevices(_ root: SystemRoot) -> [String] {
    let folder = "sys/bus/usb/devices"
    let all = root.names(in: folder)
    return all.filter { device in
      let interfaces = all.filter { $0.hasPrefix(device + ":") }.map { "\(folder)/\($0)" }
      return !interfaces.isEmpty && interfaces.allSatisfy { root.string("\($0)/bInterfaceClass") == "03" }
        && interfaces.contains { isForPeople(root, $0) }
    }.map { "\(folder)/\($0)" }
  }

  /// Whether people operate the device behind this USB interface. The input devices of its driver decide. Without a
  /// driver the interface's own description decides: boot protocol 01 is a keyboard, 02 a mouse (USB HID specification
  /// 1.11, 4.2 and 4.3).
  private static func isForPeople(_ root: SystemRoot, _ interface: String) -> Bool {
    let inputs = root.names(in: interface).flatMap { driver -> [String] in
      let folder = "\(interface)/\(driver)/input"
      return root.names(in: folder).filter { $0.hasPrefix("input") }.map { "\(folder)/\($0)" }
    }
    if !inputs.isEmpty { return inputs.contains { InputCapabilities(root: root, folder: $0).isForPeople } }
    let kind = root.string("\(interface)/bInterfaceProtocol")
    return root.string("\(interface)/bInterfaceSubClass") == "01" && (kind == "01" || kind == "02")
  }

  /// The names of the interrupts of I2C input devices. The driver names an interrupt after its device: the folder has
  /// `i2c-SYNA2393:00`, and `proc/interrupts` has `SYNA2393:00`.
  private static func i2cDevices(_ root: SystemRoot) -> [String] {
    ["i2c_hid_acpi", "i2c_hid_of", "i2c_hid", "elan_i2c"].flatMap { root.names(in: "sys/bus/i2c/drivers/\($0)") }
      .flatMap { [$0, $0.hasPrefix("i2c-") ? String($0.dropFirst(4)) : $0] }
  }
}
