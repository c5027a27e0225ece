/// A place in a source, both counted from 1; columns count Unicode scalars, as editors and libyaml do.
package struct Position: Hashable, Sendable, Comparable, CustomStringConvertible {
  package var line: Int
  package var column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// Where a problem of the whole file is reported.
  package static let start = Position(line: 1, column: 1)

  package static func < (left: Self, right: Self) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }

  package var description: String { "\(line):\(column)" }
}

/// One thing that is wrong, or doubtful, in a source, with its place. Printed as a compiler prints it.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Severity: String, Hashable, Sendable {
    /// Nothing of the sources may be applied.
    case error
    /// Worth a look; does not fail.
    case warning
    /// What follows from something that is in order; `baton validate` tells it.
    case note
  }

  /// The name that the user knows the source by.
  package var file: String
  package var position: Position
  package var severity: Severity
  package var message: String
  /// The line of the source and a caret below it; nil if there is no such line.
  package var excerpt: Excerpt?

  package init(
    file: String, position: Position = .start, severity: Severity = .error, message: String, excerpt: Excerpt? = nil
  ) {
    self.file = file
    self.position = position
    self.severity = severity
    self.message = message
    self.excerpt = excerpt
  }

  /// `jobs/export.yaml:7:3: error: unknown key …`, without the excerpt.
  package var headline: String { "\(file):\(position): \(severity.rawValue): \(message)" }

  /// The headline, then the line of the source and a caret if there is one; no newline at the end.
  package var description: String { excerpt.map { "\(headline)\n\($0)" } ?? headline }
}

/// A line of a source with a caret below the place that is meant.
package struct Excerpt: Hashable, Sendable, CustomStringConvertible {
  package var line: String
  package var caret: String

  /// Lines longer than this are shown in part, so that a file of one line cannot flood a terminal.
  static let widestLine = 160

  /// - Parameter column: from 1, in Unicode scalars.
  init(line: String, column: Int) {
    let scalars = Array(line.unicodeScalars)
    let index = min(max(column - 1, 0), scalars.count)
    let start = scalars.count > Self.widestLine ? max(0, index - Self.widestLine / 2) : 0
    let end = min(scalars.count, start + Self.widestLine)
    self.line = (start > 0 ? "…" : "") + Self.text(scalars[start..<end]) + (end < scalars.count ? "…" : "")
    caret = (start > 0 ? " " : "") + Self.text(scalars[start..<index].map { $0 == "\t" ? "\t" : " " }) + "^"
  }

  package var description: String { "\(line)\n\(caret)" }

  private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }
}
