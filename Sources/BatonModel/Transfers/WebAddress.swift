/// The address of a file on a server: an `http` or `https` URL without credentials, as RFC 3986 writes it.
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  package enum Scheme: String, Sendable { case http, https }

  package let scheme: Scheme
  /// The name or the address of the server, in lower case; an IPv6 address is in brackets.
  package let host: String
  package let port: Int
  /// The path with its query, which begins with `/`.
  package let path: String

  package static let maximumBytes = 8192

  private init(_ scheme: Scheme, _ host: String, _ port: Int, _ path: String) {
    (self.scheme, self.host, self.port, self.path) = (scheme, host, port, path)
  }

  /// - Returns: `nil` if the text is no absolute `http` or `https` URL, has a user name in it, or is longer than
  ///   `maximumBytes`.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      let mark = text.firstRange(of: "://"), let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
    else { return nil }
    let rest = text[mark.upperBound...].prefix { $0 != "#" }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    guard let (host, port) = Self.authority(rest[..<end], scheme) else { return nil }
    let path = rest[end...]
    self.init(scheme, host, port, path.hasPrefix("/") ? String(path) : "/" + path)
  }

  private static func authority(_ text: Substring, _ scheme: Scheme) -> (host: String, port: Int)? {
    let usual = scheme == .http ? 80 : 443
    guard !text.contains("@") else { return nil }
    let colon = text.hasPrefix("[") ? text.firstRange(of: "]:")?.lowerBound : text.firstIndex(of: ":")
    guard let colon else { return isHost(text) ? (text.lowercased(), usual) : nil }
    let name = text.hasPrefix("[") ? text[...colon] : text[..<colon]
    let digits = text[(text.hasPrefix("[") ? text.index(colon, offsetBy: 2) : text.index(after: colon))...]
    guard isHost(name), let port = digits.isEmpty ? usual : Int(digits), (1...65_535).contains(port) else { return nil }
    return (name.lowercased(), port)
  }

  private static func isHost(_ text: Substring) -> Bool {
    if text.hasPrefix("["), text.hasSuffix("]") {
      return text.count > 3 && text.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    return (1...253).contains(text.utf8.count)
      && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_" }
  }

  package var description: String { origin + path }

  /// The address without its query, which may have a signature in it: for messages and logs.
  package var shown: String { origin + path.prefix { $0 != "?" } + (path.contains("?") ? "?..." : "") }

  /// The scheme, the host and, if it is not the usual one, the port.
  package var origin: String {
    let usual = scheme == .http ? 80 : 443
    return "\(scheme.rawValue)://\(host)" + (port == usual ? "" : ":\(port)")
  }

  /// The address that the `Location` field of an answer of this address names; `nil` if it names none that a transfer
  /// may use.
  package func following(_ location: String) -> WebAddress? {
    let text = location.prefix { $0 != "#" }
    if text.hasPrefix("//") { return WebAddress("\(scheme.rawValue):\(text)") }
    if let colon = text.firstIndex(of: ":"), !text[..<colon].contains(where: { "/?".contains($0) }) {
      return WebAddress(String(text))
    }
    if text.hasPrefix("/") { return WebAddress(origin + Self.withoutDots(String(text))) }
    let file = path.prefix { $0 != "?" }
    if text.hasPrefix("?") { return WebAddress(origin + file + text) }
    let folder = String(file[...(file.lastIndex(of: "/") ?? file.startIndex)])
    return WebAddress(origin + Self.withoutDots(folder + text))
  }

  /// Removes the names `.` and `..` of a path (RFC 3986, section 5.2.4).
  private static func withoutDots(_ path: String) -> String {
    let file = path.prefix { $0 != "?" }
    var names: [Substring] = []
    let all = file.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for (index, name) in all.enumerated() {
      let isLast = index == all.count - 1
      switch name {
      case ".": if isLast { names.append("") }
      case "..":
        _ = names.popLast()
        if isLast { names.append("") }
      case _: names.append(name)
      }
    }
    return "/" + names.joined(separator: "/") + path[file.endIndex...]
  }
}
