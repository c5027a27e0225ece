/// Counts that grow while somebody uses an input device, and that every user may read: of a USB device's transfers, and
/// of interrupts.
///
/// A keyboard or mouse completes a transfer only when it has something to report; while it has not, it answers the
/// host's questions with NAK, which completes nothing, however often it is asked. The kernel counts a transfer when it
/// asks for the next (`usb_hcd_submit_urb`), and asks only for devices that some program has open, as a desktop has all
/// and the text console has keyboards.
struct InputCounters: Sendable {
  /// So many transfers at least between two looks: who asks a wireless keyboard how full its battery is, as desktops
  /// do, makes one or two.
  static let fewestTransfers = 3

  private var counts: [String: Int] = [:]
  /// The buses whose devices could be read at the last look.
  private(set) var readable: Set<InputInventory.Bus> = []

  /// What was used since the last look; a counter that was not there then says nothing yet.
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

  /// ` 12:  144  0  IR-IO-APIC  12-edge  i8042`: a number, a count per processor, and names. Several lines may have the
  /// same name.
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
