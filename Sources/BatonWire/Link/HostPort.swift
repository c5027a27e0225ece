internal import BatonModel

/// An address of a listener, written as `HOST:PORT`. An IPv6 address is written in brackets.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
  package var host: String
  /// The port. For a listener, 0 lets the system choose a free port.
  package var port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// Parses `HOST:PORT`. Throws a `HostPortError` that says what is wrong with `text`.
  package init(parsing text: String) throws {
    guard !text.contains(",") else {
      throw HostPortError("'\(text)' is more than one address: write one HOST:PORT, such as 127.0.0.1:7420")
    }
    guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else {
      throw HostPortError("'\(text)' is not HOST:PORT, such as 127.0.0.1:7420")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty, host.allSatisfy({ !$0.isWhitespace && $0 != "/" }) else {
      throw HostPortError("'\(text)' has no host: write HOST:PORT, such as 127.0.0.1:7420")
    }
    self.init(host: String(host), port: port)
  }

  /// The port number, from digits only: `+80` is not a port.
  private static func port(_ text: Substring) -> Int? {
    guard text.utf8.count <= 5, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(text) else {
      return nil
    }
    return (0...65_535).contains(port) ? port : nil
  }

  package var isLoopback: Bool { host.isLoopbackHost }

  /// Why a client of this machine does not connect to this address without TLS, with what to do instead; `nil` for a
  /// loopback address.
  package var refusal: String? {
    isLoopback
      ? nil
      : "\(self) is not on this machine: log in to the fleet there (baton login), and let this host join it before its "
        + "worker connects (baton host invite)"
  }

  package var isIPv6: Bool { host.contains(":") }

  package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Why a text is not `HOST:PORT`.
package struct HostPortError: Error, Sendable, CustomStringConvertible {
  package var description: String
  init(_ description: String) { self.description = description }
}
