import BatonHost
import BatonModel
import ContractRows
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Whether the network leads anywhere")
struct ReachabilityTests {
  private static let up = Reading(NetworkState.unmetered, source: "kernel", raw: "default by eth0 (up), unmetered")

  @Test("two failures in a row make the network unavailable, an answer makes it available again", .contract(19.2))
  func failures() {
    var reachability = Reachability(settings: ReachabilitySettings(target: "example.org:443"))
    #expect(reachability.applied(to: Self.up) == Self.up)
    reachability.take(.failed("Network is unreachable"))
    #expect(reachability.applied(to: Self.up) == Self.up)
    reachability.take(.reached)
    reachability.take(.failed("Network is unreachable"))
    #expect(reachability.applied(to: Self.up) == Self.up, "not in a row")
    reachability.take(.failed("no answer in time"))
    let raw = "example.org:443 not reached 2 times: no answer in time; default by eth0 (up), unmetered"
    #expect(reachability.applied(to: Self.up) == Reading(.unavailable, source: "reachability", raw: raw))
    let none = Reading(NetworkState.unavailable, source: "kernel", raw: "no default route")
    #expect(reachability.applied(to: none) == none, "the cause is the missing route")
    reachability.take(.reached)
    #expect(reachability.applied(to: Self.up) == Self.up)
  }

  @Test("the target is asked every 30 s, at once when the network changes, and never twice at a time")
  func rhythm() {
    var reachability = Reachability(settings: ReachabilitySettings(target: "example.org:443"))
    var asked = [reachability.shouldAsk(at: .second(0))]
    reachability.networkChanged()
    // The first question has no answer yet.
    asked.append(reachability.shouldAsk(at: .second(1)))
    reachability.take(.reached)
    // The next question comes at once, because the network changed while the first one was under way.
    asked.append(reachability.shouldAsk(at: .second(2)))
    reachability.take(.reached)
    for second in [31, 32] { asked.append(reachability.shouldAsk(at: .second(second))) }
    #expect(asked == [true, false, true, false, true])
  }

  @Test(
    "a target is a host and a port, an IPv6 address in brackets",
    arguments: [
      ("example.org:443", "example.org", 443), ("192.0.2.1:1", "192.0.2.1", 1), ("[::1]:7070", "::1", 7070),
      ("example.org", nil, 0), ("example.org:", nil, 0), (":443", nil, 0), ("a:0", nil, 0), ("a:65536", nil, 0),
      ("::1:80", nil, 0), ("a:http", nil, 0), ("[]:1", nil, 0),
    ] as [(String, String?, UInt16)])
  func targets(text: String, host: String?, port: UInt16) {
    let parsed = ReachabilitySettings.parse(text)
    #expect(parsed?.host == host)
    #expect((parsed?.port ?? 0) == port)
  }

  @Test("a listener is reached, over IPv4 and IPv6, and a host that refuses is reached, too")
  func connections() async throws {
    let listener = try #require(Listener())
    #expect(await ask("127.0.0.1:\(listener.port)") == .reached)
    #expect(await ask("localhost:\(listener.port)") == .reached)
    listener.close()
    // This socket holds a port and does not listen: connections are refused, and no other program can take the port.
    let deaf = try #require(Listener(queue: nil))
    #expect(await ask("127.0.0.1:\(deaf.port)") == .reached)
    deaf.close()
  }

  @Test("a name that stands for nothing, or no target at all, is a failure that says why")
  func nowhere() async {
    guard case .failed(let why) = await ask("no-such-host.invalid:443", .seconds(60)) else {
      Issue.record("reached an invalid name")
      return
    }
    #expect(why.hasPrefix("no-such-host.invalid: "))
    #expect(await ask("nonsense") == .failed("the target is not HOST:PORT"))
  }

  @Test("a target that swallows everything is given up after the patience")
  func silence() async throws {
    // A listener whose queue is full does not answer a new connection.
    let listener = try #require(Listener(queue: 0))
    let fillers = (0..<4).map { _ in listener.connectWithoutWaiting() }
    defer { for filler in fillers { _ = Listener.closeDescriptor(filler) } }
    #expect(await ask("127.0.0.1:\(listener.port)", .milliseconds(50)) == .failed("no answer in time"))
    listener.close()
  }

  private func ask(_ target: String, _ patience: Duration = .seconds(30)) async -> ReachabilityAnswer {
    var settings = ReachabilitySettings(target: target)
    settings.patience = patience
    return await TargetCheck(settings: settings).ask()
  }
}

/// A socket that listens on a free port of 127.0.0.1.
private struct Listener {
  let descriptor: Int32
  let port: UInt16

  /// - Parameter queue: the length of the queue of connections; `nil` holds the port without listening.
  init?(queue: Int32? = 16) {
    let descriptor = Self.socketDescriptor()
    var address = Self.address(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && queue.map({ listen(descriptor, $0) }) ?? 0 == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else { return nil }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  func close() { _ = Self.closeDescriptor(descriptor) }

  func connectWithoutWaiting() -> Int32 {
    let socket = Self.socketDescriptor()
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    var address = Self.address(port: port)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return socket
  }

  static func closeDescriptor(_ descriptor: Int32) -> Int32 { closeFile(descriptor) }

  private static func socketDescriptor() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }
}

private func closeFile(_ descriptor: Int32) -> Int32 { close(descriptor) }
