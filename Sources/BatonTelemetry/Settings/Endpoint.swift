internal import BatonModel

/// The URLs of an OTLP backend; https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp.
package enum Endpoint {
  /// Whether `text` is an http or https URL with a host, and nothing that no URL has.
  static func isValid(_ text: String) -> Bool {
    guard let rest = afterScheme(text) else { return false }
    return isHostAndPort(address(rest)) && rest.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  /// Whether a valid URL names this host itself: no byte of what goes there is on a wire.
  static func isLoopback(_ url: String) -> Bool {
    guard let address = afterScheme(url).map(address) else { return false }
    let host = address[..<(hostEnd(address) ?? address.endIndex)]
    return (host.hasPrefix("[") ? host.dropFirst().dropLast() : host).isLoopbackHost
  }

  /// In lower case; nil if there is another scheme.
  private static func afterScheme(_ url: String) -> Substring? {
    let lowered = url.lowercased()
    return ["http://", "https://"].first(where: lowered.hasPrefix).map { lowered.dropFirst($0.count) }
  }

  /// Host and port, without a name and password before them.
  private static func address(_ rest: Substring) -> Substring {
    let authority = rest.prefix { !"/?#".contains($0) }
    return authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
  }

  /// Where a port may begin; nil if nothing comes after the host.
  private static func hostEnd(_ text: Substring) -> String.Index? {
    text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
  }

  /// A name or an address, an IPv6 one in brackets, and perhaps a port.
  private static func isHostAndPort(_ text: Substring) -> Bool {
    let hostEnd = hostEnd(text)
    let port = hostEnd.map { text[$0...] } ?? ""
    guard !text.isEmpty, hostEnd != text.startIndex, !text.hasPrefix("[") || hostEnd != nil else { return false }
    return port.isEmpty || port.first == ":" && UInt16(port.dropFirst()) != nil
  }

  /// `path` after the path of `base`, with one slash between, before a query if there is one.
  static func appending(_ path: String, to base: String) -> String {
    let end = base.firstIndex { "?#".contains($0) } ?? base.endIndex
    var front = base[..<end]
    while front.hasSuffix("/") { front.removeLast() }
    return "\(front)/\(path)\(base[end...])"
  }

  /// Without a name and password before the host, and without a query, either of which may be a secret: for a log.
  package static func shown(_ url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return "" }
    let rest = url[start...].prefix { !"?#".contains($0) }
    let authority = rest.prefix { $0 != "/" }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return "\(url[..<start])\(host)\(rest[authority.endIndex...])"
  }
}
