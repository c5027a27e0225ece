import BatonHost
import HostFixtures
import Testing

/// A host with its interfaces and routes, and what NetworkManager says about the cost of its network.
struct NetworkMachine: Sendable, CustomTestStringConvertible {
  var name: String
  var files: MachineFolder.Files
  var settings = NetworkSettings()
  var cost: NetworkCost?

  var testDescription: String { name }

  init(
    _ name: String, _ interfaces: [Interface], _ routes: [Route] = [], _ routes6: [Route] = [],
    cost: NetworkCost? = nil, settings: (inout NetworkSettings) -> Void = { _ in }
  ) {
    self.name = name
    self.cost = cost
    files = interfaces.reduce(into: Interface("lo", state: "unknown", kind: 772).files) { $0.merge($1.files) { $1 } }
    files["proc/net/route"] = ([Self.heading] + routes.map(\.line4)).joined(separator: "\n")
    // Every host has these IPv6 routes too: one to its own address, and a default route over `lo` that rejects.
    let rejected = Route("lo", metric: 0xffff_ffff, flags: 0x0020_0200)
    files["proc/net/ipv6_route"] = (routes6 + [Route("lo", to: "::1", metric: 0), rejected]).map(\.line6)
      .joined(separator: "\n")
    settings(&self.settings)
  }

  private static let heading =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
}

struct Interface: Sendable {
  var files: MachineFolder.Files

  init(
    _ name: String, state: String = "up", carrier: String = "1", kind: Int = 1, index: Int = 2, type: String? = nil
  ) {
    let folder = "sys/class/net/\(name)"
    files = [
      "\(folder)/operstate": state, "\(folder)/carrier": carrier, "\(folder)/type": "\(kind)",
      "\(folder)/uevent": (type.map { "DEVTYPE=\($0)\n" } ?? "") + "INTERFACE=\(name)\nIFINDEX=\(index)",
    ]
  }

  static let wifi = Interface("wlan0", type: "wlan")
  static let ethernet = Interface("eth0")
  static let mobile = Interface("wwan0", state: "unknown", kind: 65534, type: "wwan")
  static let tunnel = Interface("tun0", state: "unknown", kind: 65534)
  static let docker = Interface("docker0", state: "down", carrier: "0", type: "bridge")
}

struct Route: Sendable {
  var interface: String
  var destination: String
  var metric: Int
  var flags: Int

  /// - Parameter destination: `0/0`, `subnet` or `::1`.
  init(_ interface: String, to destination: String = "0/0", metric: Int = 100, flags: Int? = nil) {
    self.interface = interface
    self.destination = destination
    self.metric = metric
    self.flags = flags ?? (destination == "0/0" ? 3 : 1)
  }

  var line4: String {
    let (target, mask) = destination == "0/0" ? ("00000000", "00000000") : ("000011AC", "0000FFFF")
    return "\(interface)\t\(target)\t010200C0\t\(Self.hexadecimal(flags, 4))\t0\t0\t\(metric)\t\(mask)\t0\t0\t0"
  }

  var line6: String {
    let zero = String(repeating: "0", count: 32)
    let (target, prefix) =
      destination == "0/0" ? (zero, "00") : (zero.dropLast() + "1", "80")
    let numbers = "\(Self.hexadecimal(metric, 8)) 00000001 00000000 \(Self.hexadecimal(flags, 8))"
    return "\(target) \(prefix) \(zero) 00 \(zero) \(numbers)     \(interface)"
  }

  private static func hexadecimal(_ number: Int, _ digits: Int) -> String {
    let text = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
