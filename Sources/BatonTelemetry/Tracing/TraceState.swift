/// The header `tracestate`: values that other tracing systems want to be passed on. Source:
/// https://www.w3.org/TR/trace-context/#tracestate-header.
package enum TraceState {
  /// The header without spaces and empty members, shortened to at most 512 characters. The result is `nil` if the
  /// header is not valid: it has more than 32 members, a key or value that is not valid, or the same key twice.
  package static func normalized(_ header: String) -> String? {
    let members = header.split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }
    guard members.count <= 32 else { return nil }
    var keys: Set<String> = []
    for member in members {
      guard let equals = member.firstIndex(of: "=") else { return nil }
      let key = String(member[..<equals])
      guard isKey(key), isValue(member[member.index(after: equals)...]), keys.insert(key).inserted else { return nil }
    }
    return shortened(members)
  }

  /// Removes members until at most 512 characters are left: first all members of more than 128 characters, then members
  /// from the end, which are the oldest.
  private static func shortened(_ members: [String]) -> String {
    var members = members
    func length() -> Int { members.reduce(members.count - 1) { $0 + $1.utf8.count } }
    if length() > 512 { members.removeAll { $0.utf8.count > 128 } }
    while length() > 512 { members.removeLast() }
    return members.joined(separator: ",")
  }

  /// Whether `key` is a valid key: lower-case letters, digits and `_-*/`, at most 256 characters; or a tenant of at
  /// most 241 characters and a system of at most 14, with one `@` between them.
  private static func isKey(_ key: String) -> Bool {
    let parts = key.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isKeyCharacter) }) else { return false }
    switch parts.count {
    case 1: return isLetter(parts[0].first) && parts[0].count <= 256
    case 2: return isLetter(parts[1].first) && parts[0].count <= 241 && parts[1].count <= 14
    default: return false
    }
  }

  private static func isLetter(_ byte: UInt8?) -> Bool { byte.map { (97...122).contains($0) } ?? false }

  private static func isKeyCharacter(_ byte: UInt8) -> Bool {
    (97...122).contains(byte) || (48...57).contains(byte) || "_-*/".utf8.contains(byte)
  }

  /// Whether `value` is valid: 1 to 256 printable ASCII characters except `,` and `=`.
  private static func isValue(_ value: Substring) -> Bool {
    let isPrintable = value.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != 0x3d && $0 != 0x2c }
    return isPrintable && (1...256).contains(value.utf8.count)
  }
}
