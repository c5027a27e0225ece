import CBatonProcess

/// An interface as `sys/class/net` shows it (Linux, Documentation/ABI/testing/sysfs-class-net), and as the system's own
/// call does.
struct NetworkInterface: Hashable, Sendable {
  let name: String
  /// Up and with carrier. `operstate` of tunnels and PPP is `unknown`, which counts as up (Linux,
  /// Documentation/networking/operstates.rst).
  let isUp: Bool
  /// What was read: `up`, `down`, `unknown`, `dormant`, `no carrier`…
  let state: String
  let isMobile: Bool
  /// ARPHRD_NONE, ARPHRD_TUNNEL and ARPHRD_TUNNEL6: it goes through another interface, and costs what that costs.
  let isTunnel: Bool

  /// Of this process's own system the kernel is asked by name, which answers for the process's network namespace: the
  /// folder belongs to the namespace of whoever mounted it, and may show another interface of that name.
  init(_ name: String, in root: SystemRoot) {
    let folder = "sys/class/net/\(name)"
    let kind = root.number("\(folder)/type")
    self.name = name
    isMobile = Self.events(root.string("\(folder)/uevent"))["DEVTYPE"] == "wwan"
    isTunnel = kind == 65534 || kind == 768 || kind == 769
    // Reading `carrier` fails while an interface is down.
    let carrier = root.number("\(folder)/carrier") != 0
    let state = root.string("\(folder)/operstate")
    let shown = state.map { ($0 == "up" || $0 == "unknown") && carrier }
    let own = root.isOwn ? Self.isRunning(name) : nil
    isUp = own ?? shown ?? true
    self.state = Self.words(state, shown, isUp: own)
  }

  /// What the folder says, unless that is of another interface.
  private static func words(_ state: String?, _ shown: Bool?, isUp: Bool?) -> String {
    guard let state, let shown, isUp == nil || isUp == shown else {
      return isUp.map { $0 ? "up" : "down" } ?? "state not known"
    }
    return !shown && (state == "up" || state == "unknown") ? "no carrier" : state
  }

  /// Nil if this process sees no such interface.
  private static func isRunning(_ name: String) -> Bool? {
    let answer = baton_interface_is_running(name)
    return answer < 0 ? nil : answer == 1
  }

  private static func events(_ text: String?) -> [Substring: Substring] {
    var events: [Substring: Substring] = [:]
    for line in text?.split(separator: "\n") ?? [] {
      guard let end = line.firstIndex(of: "=") else { continue }
      events[line[..<end]] = line[line.index(after: end)...]
    }
    return events
  }
}
