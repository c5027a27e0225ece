extension Transfer {
  package static let maximumHeaders = 32
  package static let maximumHeaderBytes = 4096
  package static let maximumPathBytes = 1024
  package static let maximumGroupBytes = 100
  package static let maximumTimeout = Duration.seconds(3650 * 86_400)

  /// Everything that keeps any host from carrying out this transfer, in words for people; empty if there is nothing. A
  /// host checks this where an order arrives.
  package var problems: [String] { addressProblems + fileProblems + headerProblems + limitProblems }

  private var addressProblems: [String] {
    WebAddress(url) == nil
      ? ["the url is no http or https address without a user name: put credentials into a header with a secret"] : []
  }

  private var fileProblems: [String] {
    let (name, path, other) = method == .get ? ("to", to, file) : ("file", file, to)
    guard let path, other == nil else {
      return ["a transfer by \(method.rawValue) has '\(name)', and not '\(method == .get ? "file" : "to")'"]
    }
    return Self.isPath(path)
      ? [] : ["'\(name)' is a path of at most \(Self.maximumPathBytes) bytes that names a file, without '.' and '..'"]
  }

  /// Whether the text is a path of a file: no name in it is empty, `.` or `..`, and it has no control characters. No
  /// name begins with a combining mark: Swift takes the slash before it and the mark for one character, which is no
  /// slash.
  package static func isPath(_ text: String) -> Bool {
    guard (1...maximumPathBytes).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
      return false
    }
    guard text.count(where: { $0 == "/" }) == text.utf8.count(where: { $0 == UInt8(ascii: "/") }) else { return false }
    let names = text.split(separator: "/", omittingEmptySubsequences: false)
    return (text.hasPrefix("/") ? names.dropFirst() : names[...]).allSatisfy {
      !["", ".", ".."].contains($0) && $0.utf8.count <= 200
    }
  }

  private var headerProblems: [String] {
    var problems = headers.count > Self.maximumHeaders ? ["there are more than \(Self.maximumHeaders) headers"] : []
    for (name, header) in headers.sorted(by: { $0.key < $1.key }) {
      if !Self.isHeaderName(name) {
        problems.append("a header has a name that HTTP does not permit")
      } else if Self.ownHeaders.contains(name.lowercased()) {
        problems.append("the header \(name) is set by the transfer itself")
      } else if !header.isValid {
        problems.append("the header \(name) has no valid text, or no valid name of a secret or of a variable")
      }
    }
    return problems
  }

  /// The fields that a transfer sets itself.
  private static let ownHeaders: Set<String> = [
    "host", "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect", "accept-encoding",
    "idempotency-key",
  ]

  private static func isHeaderName(_ name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
          || "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
  }

  private var limitProblems: [String] {
    var problems: [String] = []
    if let sha256, sha256.utf8.count != 64 || !sha256.allSatisfy({ "0123456789abcdef".contains($0) }) {
      problems.append("'sha256' is 64 hexadecimal digits in lower case")
    }
    if let size, size < 0 { problems.append("'size' is 0 or more") }
    if !(1...Self.maximumGroupBytes).contains(group.utf8.count) || group.utf8.contains(where: { $0 < 0x20 }) {
      problems.append("'group' has 1 to \(Self.maximumGroupBytes) bytes")
    }
    if requestTimeout < .seconds(1) || requestTimeout > .seconds(86_400) {
      problems.append("'requestTimeout' is from 1 second to 1 day")
    }
    if resourceTimeout < .seconds(1) || resourceTimeout > Self.maximumTimeout {
      problems.append("'resourceTimeout' is from 1 second to 10 years")
    }
    return problems
  }
}

extension TransferHeader {
  fileprivate var isValid: Bool {
    guard Self.isText(text), secret == nil || variable == nil else { return false }
    return secret.map { Secret.isFile($0) } ?? true && variable.map { Self.isVariable($0) } ?? true
  }

  /// Whether a text can be the value of a header field. A line break in it would begin another field.
  package static func isText(_ text: String) -> Bool {
    text.utf8.count <= Transfer.maximumHeaderBytes && text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }
  }

  package static func isVariable(_ name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x5f
      }
  }
}
