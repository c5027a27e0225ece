import BatonProcess
import CBatonHost

/// A network interface as `sys/class/net` shows it (Linux, Documentation/ABI/testing/sysfs-class-net), and as the
/// kernel reports it for the own network namespace.
struct NetworkInterface: Hashable, Sendable {
  let name: String
  /// The interface is up and has a carrier. The `operstate` of tunnels and PPP is `unknown`, which counts as up (Linux,
  /// Documentation/networking/operstates.rst).
  let isUp: Bool
  /// The state for people: `up`, `down`, `unknown`, `dormant`, `no carrier`…
  let state: String
  let isMobile: Bool
  /// The interface is a tunnel (ARPHRD_NONE, ARPHRD_TUNNEL or ARPHRD_TUNNEL6). It sends through another interface, and
  /// costs what that interface costs.
  let isTunnel: Bool

  /// For the system that this process runs on, the kernel's answer for this interface name beats the folder. The kernel
  /// answers for this process's network namespace. The folder belongs to the namespace of the process that mounted it,
  /// and may show another interface with the same name.
  init(_ name: String, in root: SystemRoot) {
    let folder = "sys/class/net/\(name)"
    let kind = root.number("\(folder)/type")
    self.name = name
    isMobile = Self.events(root.string("\(folder)/uevent"))["DEVTYPE"] == "wwan"
    isTunnel = kind == 65534 || kind == 768 || kind == 769
    // The file `carrier` cannot be read while an interface is down.
    let carrier = root.number("\(folder)/carrier") != 0
    let state = root.string("\(folder)/operstate")
    let shown = state.map { ($0 == "up" || $0 == "unknown") && carrier }
    let own = root.isOwn ? Self.isRunning(name) : nil
    isUp = own ?? shown ?? true
    self.state = Self.words(state, shown, isUp: own)
  }

  /// The state for people. What the folder says is left out if it contradicts the kernel, because it is then about
  /// another interface.
  private static func words(_ state: String?, _ shown: Bool?, isUp: Bool?) -> String {
    guard let state, let shown, isUp == nil || isUp == shown else {
      return isUp.map { $0 ? "up" : "down" } ?? "state not known"
    }
    return !shown && (state == "up" || state == "unknown") ? "no carrier" : state
  }

  /// Asks the kernel. `nil` if this process does not see an interface with this name.
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
