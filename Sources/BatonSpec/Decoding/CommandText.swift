/// What the words of a command may be.
///
/// `${wildcard}` is what the pattern's `*` matched, and `$${` is a `${` that is meant as it is: the definition keeps the
/// words as they were written, and whoever starts the command replaces both, from left to right. Any other `${` is
/// refused, because no shell looks at a command.
enum CommandText {
  static func mistake(in text: String, isWildcard: Bool) -> String? {
    if text.unicodeScalars.contains("\0") {
      return "a value of 'work.command' has a NUL character, which no program can be given"
    }
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        if let message = mistake(atReference: rest, isWildcard: isWildcard) { return message }
        rest = rest.dropFirst("${wildcard}".count)
      } else {
        rest = rest.dropFirst()
      }
    }
    return nil
  }

  private static func mistake(atReference rest: Substring, isWildcard: Bool) -> String? {
    guard rest.hasPrefix("${wildcard}") else {
      let end = rest.firstIndex(of: "}").map(rest.index(after:)) ?? rest.endIndex
      let reference = String(rest[..<end])
      return "\(quoted(reference)) is unknown: only ${wildcard} is replaced in a command; "
        + "write \(quoted("$" + reference)) for the text itself"
    }
    return isWildcard ? nil : "'${wildcard}' needs an identifier with a wildcard, such as com.example.export.*"
  }

  /// What is wrong with the name of an environment variable.
  static func mistake(inVariable name: String) -> String? {
    let scalars = name.unicodeScalars
    let isName =
      scalars.allSatisfy { $0 == "_" || isLetter($0) || isDigit($0) } && scalars.first.map { !isDigit($0) } ?? false
    guard isName else {
      return "\(quoted(name)) is no name for an environment variable: letters, digits and '_', no digit first"
    }
    guard name.hasPrefix("BATON_") || name == "TRACEPARENT" else { return nil }
    return "\(quoted(name)) is set by Baton itself (all BATON_ names and TRACEPARENT are); choose another name"
  }

  private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
}
