import BatonWire
import Testing

@Suite struct HostPortTests {
  @Test(arguments: [
    ("127.0.0.1:7420", "127.0.0.1", 7420), ("localhost:0", "localhost", 0), ("[::1]:65535", "::1", 65_535),
    ("example.org:443", "example.org", 443), ("[fe80::1]:1", "fe80::1", 1),
  ])
  func `a host and a port are read, and written the same`(text: String, host: String, port: Int) throws {
    let endpoint = try HostPort(parsing: text)
    #expect(endpoint == HostPort(host: host, port: port))
    #expect(endpoint.description == text)
    #expect(try HostPort(parsing: endpoint.description) == endpoint)
  }

  @Test(arguments: [
    "", ":", "7420", "host", "host:", "host:x", "host:-1", "host:65536", ":7420", "[]:7420", "a b:1", "http://a:1",
    "a:1,b:2", "a/b:1", "host:1.5", "host: 1", "host:99999999999999999999", "host:+80", "host:000080",
  ])
  func `anything else is refused with its own words`(text: String) {
    let error = #expect(throws: HostPortError.self) { try HostPort(parsing: text) }
    #expect(error?.description.contains("'\(text)'") == true)
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.255.255.254", true), ("::1", true), ("localhost", true), ("0.0.0.0", false),
    ("::", false), ("10.0.0.1", false), ("128.0.0.1", false), ("127.0.0", false), ("127.0.0.1.1", false),
    ("127.0.0.256", false), ("127.0.0.x", false), ("127.0.0.1.example.org", false), ("localhost.example.org", false),
    ("example.org", false), ("127.1", false), ("", false), ("127.+1.0.1", false), ("127.0.0.-1", false),
    ("+127.0.0.1", false), ("127.0.0.01", false), ("127.00.0.1", false), ("127.0.0.", false), ("127.0.0.١", false),
    ("0127.0.0.1", false), ("127.0x0.0.1", false), ("::ffff:127.0.0.1", false), ("LOCALHOST", false),
  ])
  func `only what other machines cannot reach is loopback`(host: String, isLoopback: Bool) {
    #expect(HostPort(host: host, port: 1).isLoopback == isLoopback)
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("::1", true), ("localhost", true), ("127.0.0.2", false), ("10.0.0.1", false),
    ("example.org", false),
  ])
  func `each name of this machine leads to the coordinator's socket, and no other address does`(
    host: String, hasSocket: Bool
  ) {
    #expect(HostPort(host: host, port: 1).hasSocket == hasSocket)
  }
}
