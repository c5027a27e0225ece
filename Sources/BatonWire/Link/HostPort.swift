internal import BatonModel

/// Where something listens: `HOST:PORT`, with an IPv6 address in brackets.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
  package var host: String
  /// 0 asks the system for a free port.
  package var port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// Throws a message that says what is wrong with `text`.
  package init(parsing text: String) throws {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw HostPortError("'\(text)' is not HOST:PORT, such as 127.0.0.1:7420") }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty, host.allSatisfy({ !$0.isWhitespace && $0 != "/" }) else {
      throw HostPortError("'\(text)' has no host: write HOST:PORT, such as 127.0.0.1:7420")
    }
    self.init(host: String(host), port: port)
  }

  package var isLoopback: Bool { host.isLoopbackHost }

  package var isIPv6: Bool { host.contains(":") }

  package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

package struct HostPortError: Error, Sendable, CustomStringConvertible {
  package var description: String
  init(_ description: String) { self.description = description }
}
