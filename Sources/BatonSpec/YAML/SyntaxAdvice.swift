/// A syntax error in words for a person who does not know libyaml: what is wrong, what to do about it, and where
/// to look.
struct SyntaxAdvice {
  var message: String
  var position: Position
}

extension SyntaxError {
  func advice(in text: SourceText) -> SyntaxAdvice {
    if isLimit { return SyntaxAdvice(message: problem, position: position) }
    if problem == "found character that cannot start any token" { return adviceOnCharacter(in: text) }
    if let opening = bracket { return adviceOnBracket(opening) }
    guard let known = Self.known.first(where: { problem.contains($0.problem) && (context ?? "").contains($0.context) })
    else { return SyntaxAdvice(message: plain, position: position) }
    return SyntaxAdvice(
      message: known.message, position: known.pointsAtContext ? contextPosition ?? position : position)
  }

  private var plain: String {
    guard let context, let contextPosition, contextPosition != position else { return "not valid YAML: \(problem)" }
    return "not valid YAML: \(problem), \(context) that starts at line \(contextPosition.line), "
      + "column \(contextPosition.column)"
  }

  private func adviceOnCharacter(in text: SourceText) -> SyntaxAdvice {
    let scalar = text.line(position.line)?.unicodeScalars.dropFirst(position.column - 1).first
    let message =
      scalar == "\t"
      ? "a tab cannot indent in YAML; use spaces"
      : "a value cannot start with \(quoted(scalar.map { String($0) } ?? "")) in YAML; put it in quotes"
    return SyntaxAdvice(message: message, position: position)
  }

  /// The kind of bracket that was not closed, if that is the mistake.
  private var bracket: (open: String, close: String)? {
    switch problem {
    case "did not find expected ',' or ']'": ("[", "]")
    case "did not find expected ',' or '}'": ("{", "}")
    default: nil
    }
  }

  /// If the bracket was opened on the same line, a comma is missing; otherwise it is more likely the closing bracket.
  private func adviceOnBracket(_ bracket: (open: String, close: String)) -> SyntaxAdvice {
    if let contextPosition, contextPosition.line != position.line {
      let message = "this '\(bracket.open)' is not closed: line \(position.line) starts something else"
      return SyntaxAdvice(message: message, position: contextPosition)
    }
    return SyntaxAdvice(message: "expected ',' or '\(bracket.close)' here", position: position)
  }

  private struct Known {
    var problem: String
    var context = ""
    /// Whether the start of what libyaml was parsing is a better place for the message than the place where it stopped.
    var pointsAtContext = false
    var message: String
  }

  /// The messages for libyaml's problems. The first that fits is used.
  private static let known: [Known] = [
    Known(
      problem: "did not find expected alphabetic or numeric character", context: "while scanning an alias",
      pointsAtContext: true,
      message: "a value that starts with '*' is an alias in YAML; put it in quotes, as in glob: \"*.jpg\""),
    Known(
      problem: "did not find expected alphabetic or numeric character", context: "while scanning an anchor",
      pointsAtContext: true, message: "a value that starts with '&' is an anchor in YAML; put it in quotes"),
    Known(
      problem: "mapping values are not allowed in this context",
      message: "a second ':' in one value, or wrong indentation; put a value that contains ': ' in quotes"),
    Known(
      problem: "could not find expected ':'", pointsAtContext: true,
      message: "a key without ': ' after it; write KEY: VALUE"),
    Known(
      problem: "found unexpected end of stream", context: "quoted scalar", pointsAtContext: true,
      message: "this quote is not closed before the end of the file"),
    Known(
      problem: "found unexpected document indicator", context: "quoted scalar", pointsAtContext: true,
      message: "this quote is not closed before the next '---'"),
    Known(
      problem: "found unknown escape character", context: "quoted scalar",
      message: "an unknown escape in double quotes; write '\\\\' for a backslash, or use single quotes"),
    Known(
      problem: "Maximum nesting level reached",
      message: "more than 64 levels of nesting, aliases included; a job needs no more than 5"),
    Known(problem: "found a tab character", message: "a tab cannot indent in YAML; use spaces"),
    Known(
      problem: "did not find expected key",
      message: "expected a key here; the indentation differs from the lines above, or a quote or bracket is left over"),
    Known(
      problem: "did not find expected '-' indicator",
      message: "expected '- ' here; the indentation differs from the items above"),
  ]
}
