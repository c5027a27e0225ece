import BatonBase
package import BatonCoordinator
package import BatonModel
import BatonSpec

/// The parameters behind the `?` of an address.
package struct Query: Sendable {
  private var values: [String: [String]] = [:]

  package static let largest = 16 << 10
  package static let mostParameters = 128
  package static let usualRepetitions = 32

  /// - Parameters:
  ///   - text: the text behind the `?`.
  ///   - names: the parameters that the route has.
  ///   - most: the most bytes of the text.
  ///   - repetitions: how often one parameter may be given.
  package init(
    _ text: String, knowing names: [String], most: Int = largest, repetitions: Int = usualRepetitions
  ) throws(HTTPFailure) {
    guard text.utf8.count <= most else { throw .invalid("the query has more than \(most) bytes") }
    let parts = text.split(separator: "&")
    guard parts.count <= Self.mostParameters else {
      throw .invalid("the query has more than \(Self.mostParameters) parameters")
    }
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = String(pair[0]).percentDecoded(plusIsSpace: true),
        let value = String(pair.count > 1 ? pair[1] : "").percentDecoded(plusIsSpace: true)
      else { throw .invalid("'\(String(part).escapedForMessage)' in the query is not percent-encoded UTF-8") }
      guard names.contains(name) else {
        let known = names.isEmpty ? "this route has none" : "this route has \(names.joined(separator: ", "))"
        throw .invalid("there is no query parameter '\(name.escapedForMessage)'; \(known)")
      }
      guard !value.unicodeScalars.contains("\0") else { throw .invalid("'\(name)' has a NUL character") }
      values[name, default: []].append(value)
      guard list(name).count <= repetitions else {
        throw .invalid("'\(name)' is given more than \(repetitions) times")
      }
    }
  }

  /// Every value of a parameter that may be given several times.
  package func list(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of a parameter that may be given once.
  package func text(_ name: String) throws(HTTPFailure) -> String? {
    let found = list(name)
    guard found.count < 2 else { throw .invalid("'\(name)' is given \(found.count) times; give it once") }
    return found.first
  }

  package func number(_ name: String, in range: ClosedRange<Int>) throws(HTTPFailure) -> Int? {
    guard let text = try text(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .invalid(
        "'\(name)' has to be a whole number from \(range.lowerBound) to \(range.upperBound), not "
          + "'\(text.escapedForMessage)'")
    }
    return number
  }

  package func truth(_ name: String) throws(HTTPFailure) -> Bool {
    switch try text(name) {
    case nil, "false": return false
    case "true": return true
    case .some(let text): throw .invalid("'\(name)' has to be true or false, not '\(text.escapedForMessage)'")
    }
  }

  package func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type = Word.self
  ) throws(HTTPFailure) -> Word? where Word.RawValue == String {
    try text(name).map { text throws(HTTPFailure) in try Self.word(text, of: name) }
  }

  package func words<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type = Word.self
  ) throws(HTTPFailure) -> [Word] where Word.RawValue == String {
    try list(name).map { text throws(HTTPFailure) in try Self.word(text, of: name) }
  }

  private static func word<Word: RawRepresentable & CaseIterable>(
    _ text: String, of name: String
  ) throws(HTTPFailure) -> Word where Word.RawValue == String {
    if let word = Word(rawValue: text) { return word }
    throw .invalid(
      "'\(name)' has to be one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")), not "
        + "'\(text.escapedForMessage)'")
  }

  package func duration(_ name: String, in range: ClosedRange<Duration>) throws(HTTPFailure) -> Duration? {
    guard let text = try text(name) else { return nil }
    let duration: Duration
    do { duration = try Values.duration(text) } catch { throw .invalid("'\(name)': \(error)") }
    guard range.contains(duration) else {
      throw .invalid("'\(name)' has to be from \(range.lowerBound.inWords) to \(range.upperBound.inWords)")
    }
    return duration
  }

  /// A time of the past: a duration up to now, or a date.
  package func since(_ name: String, now: Timestamp) throws(HTTPFailure) -> Timestamp? {
    guard let text = try text(name) else { return nil }
    do {
      switch try Values.earliestBeginDate(text) {
      case .afterSubmission(let duration): return now + (.zero - duration)
      case .at(let date): return date
      }
    } catch { throw .invalid("'\(name)': \(error)") }
  }
}

extension String {
  /// The text without its percent signs; `nil` if they are not followed by two hexadecimal digits, or if the result is
  /// not UTF-8.
  package func percentDecoded(plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
          let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The text in a message: on one line, and not longer than a name may be.
  package var escapedForMessage: String {
    let text = escapedOnOneLine
    return text.count > 100 ? text.prefix(99) + "…" : text
  }
}

extension HTTPFailure {
  package static func invalid(_ message: String) -> HTTPFailure { HTTPFailure(400, "invalid", message) }
}
