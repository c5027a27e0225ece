import BatonBase
import BatonModel
import BatonProcess

/// Tells when a person last touched a keyboard, a mouse or a screen.
///
/// At each reading, the devices in `dev/input` that the worker's user may open (as root, or as a member of the group
/// `input`) are opened and emptied. Only the fact that there was an event counts: the content of events is discarded
/// without being looked at, stored or sent. For devices that cannot be opened, counters are compared instead
/// (`InputCounters`). Neither way has a history, so that the time before the first reading is unknown.
struct InputDevices: Sendable {
  struct State: Hashable, Sendable {
    /// The host has an input device that people operate, such as a keyboard.
    var hasDevices: Bool
    /// Since when all devices have been watched without a touch: the later of the beginning of the watch and the last
    /// touch. `nil` while one of the devices cannot be watched.
    var quietSince: Instant?
    var lastTouch: Sighting?
  }

  private let root: SystemRoot
  private let opens: Bool
  private var inventory: (value: InputInventory, at: Instant)?
  private var open: [String: OpenDevice] = [:]
  private var counters = InputCounters()
  private var watchedSince: Instant?
  private var lastTouch: Sighting?

  /// How often new devices are looked for.
  private static let scan = Duration.seconds(10)

  init(root: SystemRoot, opens: Bool) {
    self.root = root
    self.opens = opens
  }

  mutating func read(at now: Instant) -> State {
    let inventory = currentInventory(at: now)
    if let name = touched(inventory) { lastTouch = Sighting(at: now, what: "\(name) used") }
    watchedSince = isWatched(inventory) ? watchedSince ?? now : nil
    let quietSince = watchedSince.map { max($0, lastTouch?.at ?? $0) }
    return State(hasDevices: !inventory.devices.isEmpty, quietSince: quietSince, lastTouch: lastTouch)
  }

  /// Returns the devices, listed again at most every 10 s. A new device counts as a touch, because a person plugged it
  /// in.
  private mutating func currentInventory(at now: Instant) -> InputInventory {
    if let inventory, now - inventory.at < Self.scan { return inventory.value }
    let fresh = InputInventory(root: root)
    let new = inventory.map { old in fresh.devices.keys.filter { old.value.devices[$0] == nil } } ?? []
    if let name = new.min() { lastTouch = Sighting(at: now, what: "\(name) plugged in") }
    inventory = (fresh, now)
    openDevices(fresh)
    return fresh
  }

  private mutating func openDevices(_ inventory: InputInventory) {
    open = open.filter { inventory.devices[$0.key] != nil }
    for name in inventory.devices.keys where opens && open[name] == nil {
      open[name] = OpenDevice(root.path + "/dev/input/" + name)
    }
  }

  /// Returns the name of a device that was touched since the last reading, or `nil`.
  private mutating func touched(_ inventory: InputInventory) -> String? {
    var touched: [String] = []
    for (name, device) in open {
      switch device.empty() {
      case .nothing: continue
      case .something: touched.append(name)
      case .gone: open[name] = nil
      }
    }
    if open.count == inventory.devices.count { return touched.min() }
    let counted = counters.read(inventory, root: root)
    return touched.min() ?? counted
  }

  /// Whether a touch of any device would be noticed. A virtual device needs no watch of its own.
  private func isWatched(_ inventory: InputInventory) -> Bool {
    inventory.devices.allSatisfy { name, bus in
      open[name] != nil || bus == .virtual || counters.readable.contains(bus)
    }
  }
}

/// An input device that is open for reading. It is closed when the last reference to it is gone.
final class OpenDevice: Sendable {
  enum Contents: Hashable, Sendable { case nothing, something, gone }

  private let descriptor: Int32

  /// - Returns: `nil` if the worker's user may not open the device.
  init?(_ path: String) {
    guard let descriptor = try? SystemCall.open(path, O_RDONLY | O_NONBLOCK) else { return nil }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Reads and discards the events that wait, at most 64 KiB.
  /// - Returns: whether there were events, or `.gone` if the device can no longer be read.
  func empty() -> Contents {
    for count in 0..<16 {
      if let chunk = SystemCall.read(descriptor, limit: 4096) {
        if chunk.isEmpty { return count > 0 ? .something : .nothing }
      } else {
        if count > 0 { return .something }
        return errno == EAGAIN ? .nothing : .gone
      }
    }
    return .something
  }
}
