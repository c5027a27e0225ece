internal import BatonModel

/// Checks, joins and prints the URLs of an OTLP backend. Source:
/// https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp.
package enum Endpoint {
  /// Whether `text` is an `http` or `https` URL with a host and only printable ASCII characters without spaces.
  static func isValid(_ text: String) -> Bool {
    guard let rest = afterScheme(text) else { return false }
    return isHostAndPort(address(rest)) && rest.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  /// Whether the host of a valid URL is loopback. Requests to a loopback host never leave the machine.
  static func isLoopback(_ url: String) -> Bool {
    guard let address = afterScheme(url).map(address) else { return false }
    let host = address[..<(hostEnd(address) ?? address.endIndex)]
    return (host.hasPrefix("[") ? host.dropFirst().dropLast() : host).isLoopbackHost
  }

  /// The URL without its scheme, in lower case; `nil` if the scheme is neither `http` nor `https`.
  private static func afterScheme(_ url: String) -> Substring? {
    let lowered = url.lowercased()
    return ["http://", "https://"].first(where: lowered.hasPrefix).map { lowered.dropFirst($0.count) }
  }

  /// The host and port, without the user name and password that may come before them.
  private static func address(_ rest: Substring) -> Substring {
    let authority = rest.prefix { !"/?#".contains($0) }
    return authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
  }

  /// The index after the host, where `:port` begins if there is a port; `nil` if nothing follows the host.
  private static func hostEnd(_ text: Substring) -> String.Index? {
    text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
  }

  /// Whether `text` is a host name or address, with an IPv6 address in brackets, and an optional port.
  private static func isHostAndPort(_ text: Substring) -> Bool {
    let hostEnd = hostEnd(text)
    let port = hostEnd.map { text[$0...] } ?? ""
    guard !text.isEmpty, hostEnd != text.startIndex, !text.hasPrefix("[") || hostEnd != nil else { return false }
    return port.isEmpty || port.first == ":" && UInt16(port.dropFirst()) != nil
  }

  /// Appends `path` to the path of `base`, with exactly one slash between them. A query or fragment of `base` stays at
  /// the end.
  static func appending(_ path: String, to base: String) -> String {
    let end = base.firstIndex { "?#".contains($0) } ?? base.endIndex
    var front = base[..<end]
    while front.hasSuffix("/") { front.removeLast() }
    return "\(front)/\(path)\(base[end...])"
  }

  /// The URL for a log line: without user name, password, query and fragment, because each of them may hold a secret.
  package static func shown(_ url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return "" }
    let rest = url[start...].prefix { !"?#".contains($0) }
    let authority = rest.prefix { $0 != "/" }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return "\(url[..<start])\(host)\(rest[authority.endIndex...])"
  }
}
