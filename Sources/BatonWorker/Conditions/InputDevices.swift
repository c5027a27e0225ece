import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// When somebody last touched a keyboard, a mouse, or a screen.
///
/// Devices in `dev/input` that this user may open (members of the group `input`, or root) are opened and emptied at
/// every look. That there was something is all that counts: what it was is thrown away unread, never looked at, kept or
/// sent. Where a device cannot be opened, counters are compared instead. Neither has a history: nobody knows what was
/// before the first look.
struct InputDevices: Sendable {
  struct State: Hashable, Sendable {
    /// There is a keyboard or the like.
    var hasDevices: Bool
    /// Since when every one of them is watched, or was last touched; nil while one is not.
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

  /// What is plugged in is looked for this often.
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

  /// A device that was plugged in meanwhile was touched by somebody.
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

  private func isWatched(_ inventory: InputInventory) -> Bool {
    inventory.devices.allSatisfy { name, bus in
      open[name] != nil || bus == .virtual || counters.readable.contains(bus)
    }
  }
}

/// A device that is open for reading, closed with its last owner.
final class OpenDevice: Sendable {
  enum Contents: Hashable, Sendable { case nothing, something, gone }

  private let descriptor: Int32

  /// Nil if it may not be opened.
  init?(_ path: String) {
    guard let descriptor = try? SystemCall.open(path, O_RDONLY | O_NONBLOCK) else { return nil }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Throws away what waits to be read, at most 64 KiB of it.
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
