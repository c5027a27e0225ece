import BatonCoordinator

/// An object that a caller has sent. Each key is asked for once; `finish` refuses those that nothing has asked for.
struct BodyObject {
  private let place: String
  private var members: [String: JSONTree] = [:]
  private var known: [String] = []

  /// - Parameter place: what is read, for messages, such as `the body` or `request 3 of the body`.
  init(_ tree: JSONTree, _ place: String) throws(HTTPFailure) {
    guard case .object(let members) = tree.value else {
      throw .invalid("\(place) has to be an object, not \(tree.kind)")
    }
    self.place = place
    for member in members { self.members[member.key] = member.value }
  }

  /// The value of a key; `nil` if it is missing. Null is a value: of a payload, and otherwise of the wrong type.
  mutating func tree(_ key: String) -> JSONTree? {
    known.append(key)
    return members.removeValue(forKey: key)
  }

  mutating func text(_ key: String) throws(HTTPFailure) -> String? {
    guard let tree = tree(key) else { return nil }
    guard case .string(let text) = tree.value else { throw mistake(key, "has to be a text", tree) }
    guard !text.unicodeScalars.contains("\0") else { throw .invalid("'\(key)' of \(place) has a NUL character") }
    return text
  }

  mutating func needed(_ key: String) throws(HTTPFailure) -> String {
    guard let text = try text(key) else { throw .invalid("\(place) needs the key '\(key)'") }
    return text
  }

  mutating func truth(_ key: String) throws(HTTPFailure) -> Bool? {
    guard let tree = tree(key) else { return nil }
    guard case .bool(let isTrue) = tree.value else { throw mistake(key, "has to be true or false", tree) }
    return isTrue
  }

  mutating func number(_ key: String, in range: ClosedRange<Int>) throws(HTTPFailure) -> Int? {
    guard let tree = tree(key) else { return nil }
    guard case .number(let found) = tree.value, let number = found.flatMap({ Int(exactly: $0) }), range.contains(number)
    else {
      throw mistake(key, "has to be a whole number from \(range.lowerBound) to \(range.upperBound)", tree)
    }
    return number
  }

  /// One of several words.
  mutating func word<Word: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Word.Type = Word.self
  ) throws(HTTPFailure) -> Word? where Word.RawValue == String {
    guard let text = try text(key) else { return nil }
    if let word = Word(rawValue: text) { return word }
    throw mistake(key, "has to be one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
  }

  /// Refuses keys that nothing has asked for.
  func finish() throws(HTTPFailure) {
    guard let key = members.keys.min() else { return }
    throw .invalid(
      "\(place) has no key '\(key.escapedForMessage)'; it has \(known.joined(separator: ", "))")
  }

  func mistake(_ key: String, _ rule: String, _ tree: JSONTree? = nil) -> HTTPFailure {
    .invalid("'\(key)' of \(place) \(rule)" + (tree.map { ", not \($0.kind)" } ?? ""))
  }
}
