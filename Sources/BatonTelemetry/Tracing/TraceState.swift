/// The header `tracestate`: what other tracing systems want carried along.
/// Source: https://www.w3.org/TR/trace-context/#tracestate-header.
package enum TraceState {
  /// Without the spaces and empty members, at most 512 characters, or nil if it is not valid: a key that is none, a key
  /// twice, a value that is none, more than 32 members.
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

  /// Long members go first, then those at the end, which are the oldest.
  private static func shortened(_ members: [String]) -> String {
    var members = members
    func length() -> Int { members.reduce(members.count - 1) { $0 + $1.utf8.count } }
    if length() > 512 { members.removeAll { $0.utf8.count > 128 } }
    while length() > 512 { members.removeLast() }
    return members.joined(separator: ",")
  }

  /// Lower-case letters, digits, `_-*/`, and one `@` between a tenant of at most 241 and a system of at most 14.
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

  /// At most 256 printable characters of ASCII without `,` and `=`.
  private static func isValue(_ value: Substring) -> Bool {
    let isPrintable = value.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != 0x3d && $0 != 0x2c }
    return isPrintable && (1...256).contains(value.utf8.count)
  }
}
