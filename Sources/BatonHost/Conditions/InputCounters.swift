import BatonProcess

/// Notices the use of input devices by counters that every user may read: of transfers of USB devices, and of
/// interrupts.
///
/// A keyboard or mouse completes a USB transfer only when it has something to report. Otherwise it answers the host's
/// polls with NAK, which completes no transfer. The kernel counts a transfer when it submits the next one
/// (`usb_hcd_submit_urb`), and it submits transfers only for devices that a program has open. A desktop opens all input
/// devices; the text console opens keyboards.
struct InputCounters: Sendable {
  /// The smallest number of USB transfers between two readings that counts as use. Desktops ask a wireless keyboard for
  /// its battery charge, which makes one or two transfers.
  static let fewestTransfers = 3

  private var counts: [String: Int] = [:]
  /// The buses whose counters could be read at the last reading.
  private(set) var readable: Set<InputInventory.Bus> = []

  /// Reads all counters and returns the name of a device or interrupt that was used since the last reading, or `nil`. A
  /// counter that is new does not count yet.
  mutating func read(_ inventory: InputInventory, root: SystemRoot) -> String? {
    var found: [String: Int] = [:]
    readable = []
    for folder in inventory.usb {
      guard let count = root.number("\(folder)/urbnum") else { continue }
      found[folder] = count
      readable.insert(.usb)
    }
    if !inventory.interrupts.isEmpty { countInterrupts(of: inventory, root, into: &found) }
    let used = found.filter { name, count in
      guard let old = counts[name] else { return false }
      return count < old || count - old >= (name.hasPrefix("sys/") ? Self.fewestTransfers : 1)
    }
    counts = found
    return used.keys.min().map { $0.hasPrefix("sys/") ? "usb " + $0.split(separator: "/").last! : $0 }
  }

  /// Adds up the interrupts of each input device. A line such as ` 12:  144  0  IR-IO-APIC  12-edge  i8042` has a
  /// number, one count per processor, and names. Several lines may have the same last name.
  private mutating func countInterrupts(
    of inventory: InputInventory, _ root: SystemRoot, into found: inout [String: Int]
  ) {
    for line in (root.string("proc/interrupts") ?? "").utf8.split(separator: UInt8(ascii: "\n")) {
      let end = line.lastIndex(of: UInt8(ascii: " ")).map { line.index(after: $0) } ?? line.startIndex
      guard let name = String(line[end...]), inventory.interrupts.contains(name) else { continue }
      let columns = line.split(separator: UInt8(ascii: " ")).dropFirst()
      found[name, default: 0] &+= columns.lazy.map { Int(Substring($0)) }.prefix { $0 != nil }.reduce(0) {
        $0 &+ ($1 ?? 0)
      }
      readable.insert(name == "i8042" ? .ps2 : .i2c)
    }
  }
}
