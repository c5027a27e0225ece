/// The input devices of people, and where to see that they are used: a look at some dozens of files, taken now and
/// then.
struct InputInventory: Hashable, Sendable {
  /// How a device is connected (`id/bustype`, <linux/input.h>).
  enum Bus: Hashable, Sendable {
    case usb, ps2, i2c
    /// Made by a program out of others, which are here themselves.
    case virtual
    case other
  }

  /// Their buses, by name, such as `event3`.
  private(set) var devices: [String: Bus] = [:]
  /// Folders of USB devices that are nothing but keyboards and mice.
  private(set) var usb: [String] = []
  /// Last words of the lines in `proc/interrupts` that belong to input devices.
  private(set) var interrupts: Set<String> = []

  init(root: SystemRoot) {
    let classes = root.names(in: "sys/class/input")
    let names = classes.isEmpty ? root.names(in: "dev/input") : classes
    for name in names where name.hasPrefix("event") {
      let folder = "sys/class/input/\(name)/device"
      // Nothing is known of a device that is in /dev only, as in a container: it may be anything.
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

  /// Such as `sys/bus/usb/devices/1-2`.
  ///
  /// `urbnum` counts the transfers of a whole device (Linux, Documentation/ABI/testing/sysfs-bus-usb). So the device
  /// must have interfaces of class 03 (HID) only: a headset with buttons transfers sound all the time. And one of them
  /// must be for people: an uninterruptible power supply is HID, too, and reports all the time.
  private static func usbDevices(_ root: SystemRoot) -> [String] {
    let folder = "sys/bus/usb/devices"
    let all = root.names(in: folder)
    return all.filter { device in
      let interfaces = all.filter { $0.hasPrefix(device + ":") }.map { "\(folder)/\($0)" }
      return !interfaces.isEmpty && interfaces.allSatisfy { root.string("\($0)/bInterfaceClass") == "03" }
        && interfaces.contains { isForPeople(root, $0) }
    }.map { "\(folder)/\($0)" }
  }

  /// By what it can report; if no driver knows that, by what it says of itself: boot protocol 01 is a keyboard, 02 a
  /// mouse (USB HID specification 1.11, 4.2 and 4.3).
  private static func isForPeople(_ root: SystemRoot, _ interface: String) -> Bool {
    let inputs = root.names(in: interface).flatMap { driver -> [String] in
      let folder = "\(interface)/\(driver)/input"
      return root.names(in: folder).filter { $0.hasPrefix("input") }.map { "\(folder)/\($0)" }
    }
    if !inputs.isEmpty { return inputs.contains { InputCapabilities(root: root, folder: $0).isForPeople } }
    let kind = root.string("\(interface)/bInterfaceProtocol")
    return root.string("\(interface)/bInterfaceSubClass") == "01" && (kind == "01" || kind == "02")
  }

  /// The driver names its interrupt after the device: `i2c-SYNA2393:00` in its folder, `SYNA2393:00` there.
  private static func i2cDevices(_ root: SystemRoot) -> [String] {
    ["i2c_hid_acpi", "i2c_hid_of", "i2c_hid", "elan_i2c"].flatMap { root.names(in: "sys/bus/i2c/drivers/\($0)") }
      .flatMap { [$0, $0.hasPrefix("i2c-") ? String($0.dropFirst(4)) : $0] }
  }
}
