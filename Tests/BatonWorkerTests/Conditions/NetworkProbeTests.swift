import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

@Suite("Whether a host has a network, and what it costs")
struct NetworkProbeTests {
  @Test(
    "a default route through an interface that is up",
    arguments: [
      (NetworkMachine("ethernet", [.ethernet], [Route("eth0")]), .unmetered, "default by eth0 (up), unmetered"),
      (
        NetworkMachine("cable pulled", [Interface("eth0", state: "down", carrier: "0")], [Route("eth0")]), .unavailable,
        "default by eth0 (down)"
      ),
      (
        NetworkMachine("up without carrier", [Interface("eth0", carrier: "0")], [Route("eth0")]), .unavailable,
        "default by eth0 (no carrier)"
      ),
      (
        NetworkMachine("wifi that is still logging in", [Interface("wlan0", state: "dormant")], [Route("wlan0")]),
        .unavailable, "default by wlan0 (dormant)"
      ),
      (NetworkMachine("no route out", [.ethernet], [Route("eth0", to: "subnet")]), .unavailable, "no default route"),
      (
        NetworkMachine(
          "only the bridges of docker", [.docker, Interface("br-1f"), Interface("veth1")],
          [Route("docker0", to: "subnet"), Route("br-1f", to: "subnet")]), .unavailable, "no default route"
      ),
      (NetworkMachine("nothing but lo", []), .unavailable, "no default route"),
      (
        NetworkMachine("IPv6 only", [.ethernet], [], [Route("eth0", metric: 1024)]), .unmetered,
        "default by eth0 (up), unmetered"
      ),
      (
        NetworkMachine(
          "a route that rejects", [.ethernet], [Route("eth0", flags: 0x201)], [Route("eth0", flags: 0x201)]),
        .unavailable, "no default route"
      ),
      (NetworkMachine("a blackhole", [.ethernet], [Route("*", flags: 0x201)]), .unavailable, "no default route"),
      (
        NetworkMachine("a route that is not up", [.ethernet], [Route("eth0", flags: 2)]), .unavailable,
        "no default route"
      ),
      (
        NetworkMachine("a default over lo", [], [Route("lo")], [Route("lo", metric: 1, flags: 1)]), .unavailable,
        "no default route"
      ),
      (
        NetworkMachine(
          "PPP, whose state nobody knows", [Interface("ppp0", state: "unknown", kind: 512)], [Route("ppp0")]),
        .unmetered, "default by ppp0 (unknown), unmetered"
      ),
      (
        NetworkMachine("two defaults", [.ethernet, .mobile], [Route("wwan0", metric: 700), Route("eth0")]), .unmetered,
        "default by eth0 (up), unmetered"
      ),
      (
        NetworkMachine(
          "two defaults, mobile preferred", [.ethernet, .mobile], [Route("eth0"), Route("wwan0", metric: 50)]),
        .metered, "default by wwan0 (unknown), metered: mobile"
      ),
      (
        NetworkMachine(
          "two defaults, the better one pulled", [Interface("eth0", state: "down", carrier: "0"), .mobile],
          [Route("eth0"), Route("wwan0", metric: 700)]), .metered, "default by wwan0 (unknown), metered: mobile"
      ),
      (
        NetworkMachine("wifi and VPN", [.wifi, .tunnel], [Route("tun0", metric: 50), Route("wlan0", metric: 600)]),
        .unmetered, "default by tun0 (unknown), unmetered through wlan0"
      ),
    ] as [(NetworkMachine, NetworkState, String)])
  func machines(machine: NetworkMachine, state: NetworkState, raw: String) throws {
    let reading = try read(machine)
    #expect(reading == Reading(state, source: "kernel", raw: raw))
  }

  @Test("the number in the metric of IPv6 is hexadecimal")
  func metric6() throws {
    let machine = NetworkMachine(
      "both", [.ethernet, .mobile], [Route("eth0", metric: 90)], [Route("wwan0", metric: 0x5a + 1)])
    #expect(try read(machine).value == .unmetered)
    let other = NetworkMachine(
      "both", [.ethernet, .mobile], [Route("eth0", metric: 17)], [Route("wwan0", metric: 0x10)])
    #expect(try read(other).value == .metered)
  }

  @Test(
    "the owner's word beats the kind of the interface, and that beats NetworkManager",
    arguments: [
      (Cost("usb0", nil, [], []), .unmetered), (Cost("usb0", .yes, [], []), .metered),
      (Cost("usb0", .guessYes, [], []), .metered), (Cost("usb0", .guessNo, [], []), .unmetered),
      (Cost("usb0", .unknown, [], []), .unmetered), (Cost("usb0", nil, ["usb*"], []), .metered),
      (Cost("usb0", .no, ["wlan0", "usb?"], []), .metered), (Cost("usb0", .yes, [], ["usb0"]), .unmetered),
      (Cost("usb0", nil, ["us*"], ["usb0"]), .unmetered), (Cost("usb0", nil, ["usb"], []), .unmetered),
      (Cost("wwan0", nil, [], []), .metered), (Cost("wwan0", .no, [], []), .metered),
      (Cost("wwan0", nil, [], ["ww*"]), .unmetered),
    ] as [(Cost, NetworkState)])
  func cost(cost: Cost, state: NetworkState) throws {
    let machine = NetworkMachine("one", [.mobile, Interface("usb0")], [Route(cost.interface)], cost: cost.word) {
      $0.metered = cost.metered
      $0.unmetered = cost.unmetered
    }
    #expect(try read(machine).value == state)
  }

  struct Cost: Sendable {
    var (interface, word): (String, NetworkCost?)
    var (metered, unmetered): ([String], [String])

    init(_ interface: String, _ word: NetworkCost?, _ metered: [String], _ unmetered: [String]) {
      (self.interface, self.word) = (interface, word)
      (self.metered, self.unmetered) = (metered, unmetered)
    }
  }

  @Test("a tunnel costs what its way out costs, unless its owner says otherwise")
  func tunnels() throws {
    let routes = [Route("tun0", metric: 50), Route("wwan0", metric: 700)]
    let mobile = NetworkMachine("VPN over mobile", [.tunnel, Interface("wwan0", type: "wwan")], routes)
    #expect(try read(mobile).value == .metered)
    let own = NetworkMachine("and its owner", [.tunnel, Interface("wwan0", type: "wwan")], routes) {
      $0.unmetered = ["tun*"]
    }
    #expect(try read(own).value == .unmetered)
    let alone = NetworkMachine("nothing beneath", [.tunnel], [Route("tun0")], cost: .yes)
    #expect(try read(alone).value == .metered)
  }

  @Test("without a way out, an interface with an address is a network only where that is enough")
  func isolated() throws {
    let lan = [Interface("eth0", state: "down", carrier: "0"), Interface("eth1", index: 3)]
    let routes = [Route("eth0", to: "subnet"), Route("eth1", to: "subnet")]
    #expect(try read(NetworkMachine("LAN", lan, routes)).value == .unavailable)
    let enough = NetworkMachine("LAN", lan, routes) { $0.requireDefaultRoute = false }
    #expect(try read(enough).raw == "no default route, but eth1 (up), unmetered")
    let none = NetworkMachine("no address", lan) { $0.requireDefaultRoute = false }
    #expect(try read(none).value == .unavailable)
    var six = none
    six.files["proc/net/if_inet6"] = """
      00000000000000000000000000000001 01 80 10 80       lo
      fe800000000000000000000000000001 03 40 20 80     eth1
      """
    #expect(try read(six).value == .unavailable, "an address of the link leads nowhere")
    six.files["proc/net/if_inet6"]! += "\nfd000000000000000000000000000002 03 40 00 80     eth1"
    #expect(try read(six).value == .unmetered)
  }

  @Test(
    "what cannot be read is unknown, never a loss",
    arguments: [
      (["proc/net/route": nil, "proc/net/ipv6_route": nil], nil, "no proc/net/route"),
      (["proc/net/route": MachineFolder.unreadable], nil, "proc/net/route: \(MachineFolder.refusal)"),
      (["proc/net/route": "garbage"], nil, "proc/net/route: not understood"),
      (["proc/net/route": "Iface\tDestination\neth0\tzz"], nil, "proc/net/route: not understood"),
      (["proc/net/ipv6_route": "garbage"], nil, "proc/net/ipv6_route: not understood"),
      (["proc/net/route": nil], .unavailable, "no default route"),
      (["proc/net/route": ""], .unavailable, "no default route"),
      (["proc/net/ipv6_route": nil], .unavailable, "no default route"),
    ] as [([String: String?], NetworkState?, String)])
  func gaps(changes: [String: String?], state: NetworkState?, raw: String) throws {
    var machine = NetworkMachine("no route out", [.ethernet])
    for (file, contents) in changes { machine.files[file] = contents }
    #expect(try read(machine) == Reading(state, source: "kernel", raw: raw))
  }

  @Test("one table that cannot be read does not hide a default in the other")
  func halfRead() throws {
    var machine = NetworkMachine("ethernet", [.ethernet], [Route("eth0")])
    machine.files["proc/net/ipv6_route"] = MachineFolder.unreadable
    #expect(try read(machine).value == .unmetered)
  }

  @Test("a table that is cut off in its last line is read up to there")
  func cutOff() throws {
    var machine = NetworkMachine("many routes", [.ethernet], [Route("eth0"), Route("eth0", to: "subnet")])
    machine.files["proc/net/route"]!.removeLast(40)
    #expect(try read(machine).value == .unmetered)
  }

  @Test("an interface that sysfs does not show, because it shows another namespace, is taken as up")
  func otherNamespace() throws {
    var machine = NetworkMachine("container", [], [Route("eth0")])
    #expect(try read(machine).raw == "default by eth0 (state not known), unmetered")
    // The root is not that of this system, so the files of that system's first process are read: `proc/net` belongs to
    // the process that reads it.
    machine.files["proc/1/net/route"] = machine.files["proc/net/route"]!.replacing("eth0", with: "eth9")
    #expect(try read(machine).raw == "default by eth9 (state not known), unmetered")
  }

  private func read(_ machine: NetworkMachine) throws -> Reading<NetworkState> {
    try MachineFolder.with(machine.files) { folder in
      NetworkProbe(root: folder.root, settings: machine.settings).read(cost: machine.cost)
    }
  }
}
