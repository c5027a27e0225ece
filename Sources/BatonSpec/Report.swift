import BatonModel

/// Collects the problems of one source.
struct Report {
  let file: String
  private let text: SourceText?
  private(set) var problems: [Problem] = []
  private(set) var errorCount = 0
  private var hiddenLines: Set<Int> = []
  private var warningCount = 0
  private var noteCount = 0

  init(file: String, text: SourceText?) {
    self.file = file
    self.text = text
  }

  /// Whether so many errors were reported that reading on would help no reader.
  var isFull: Bool { errorCount >= Limits.problemsPerSource }

  mutating func error(_ message: String, at position: Position) {
    errorCount += 1
    add(.error, message, at: position, number: errorCount)
  }

  mutating func warning(_ message: String, at position: Position) {
    warningCount += 1
    add(.warning, message, at: position, number: warningCount)
  }

  mutating func note(_ message: String, at position: Position) {
    noteCount += 1
    add(.note, message, at: position, number: noteCount)
  }

  private mutating func add(_ severity: Problem.Severity, _ message: String, at position: Position, number: Int) {
    guard number <= Limits.problemsPerSource else { return }
    problems.append(
      Problem(
        file: file, position: position, severity: severity, message: message, excerpt: excerpt(at: position)))
    if number == Limits.problemsPerSource {
      let end = "there are 1,000 \(severity.rawValue)s; further ones in this file are not reported"
      problems.append(Problem(file: file, position: position, severity: severity, message: end))
    }
  }

  /// The first place of `text` at or after a line. Places with a `$` before `text` are skipped, because the `$` makes
  /// it literal text. `nil` if there is no such place.
  func position(of text: String, fromLine first: Int) -> Position? {
    var number = first
    while let line = self.text?.line(number) {
      var start = line.startIndex
      while let found = line[start...].firstRange(of: text) {
        if line[..<found.lowerBound].last != "$" {
          let column = line.unicodeScalars.distance(from: line.startIndex, to: found.lowerBound) + 1
          return Position(line: number, column: column)
        }
        start = found.upperBound
      }
      number += 1
    }
    return nil
  }

  /// A line that is very long is not shown: a file may have a thousand problems on it.
  private func excerpt(at position: Position) -> Excerpt? {
    guard let text, let range = text.range(ofLine: position.line), range.count <= Limits.shownLineBytes,
      let line = text.line(position.line), !line.allSatisfy(\.isWhitespace)
    else { return nil }
    return Excerpt(line: line, column: position.column)
  }

  /// Keeps a line out of every message, because it has a value that looks like a secret: the messages may end up in
  /// the log of a pipeline.
  mutating func hide(line: Int) { hiddenLines.insert(line) }

  /// The problems by position. Problems at the same position stay in the order in which they were reported.
  func sorted() -> [Problem] {
    let sorted = problems.enumerated().sorted {
      ($0.element.position, $0.offset) < ($1.element.position, $1.offset)
    }
    return sorted.map { _, problem in
      var problem = problem
      if hiddenLines.contains(problem.position.line) { problem.excerpt = nil }
      return problem
    }
  }
}

/// The text in single quotes, cut to 60 characters, with characters that are not printable escaped, so that a hostile
/// value cannot act on a terminal.
func quoted(_ text: String) -> String {
  var shown = ""
  for scalar in text.unicodeScalars.prefix(60) {
    if scalar.isPrintable {
      shown.unicodeScalars.append(scalar)
    } else {
      shown += "\\u{\(String(scalar.value, radix: 16))}"
    }
  }
  return "'\(shown)\(text.unicodeScalars.count > 60 ? "…" : "")'"
}
