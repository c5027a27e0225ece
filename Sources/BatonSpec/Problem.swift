/// A place in a source. Line and column count from 1. Columns count Unicode scalars, as editors and libyaml do.
package struct Position: Hashable, Sendable, Comparable, CustomStringConvertible {
  package var line: Int
  package var column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// The place at which a problem of the whole file is reported.
  package static let start = Position(line: 1, column: 1)

  /// Goes on over UTF-8, in which line feeds end lines.
  package mutating func advance(over bytes: some Sequence<UInt8>) {
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        (line, column) = (line + 1, 1)
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }

  package var description: String { "\(line):\(column)" }
}

/// A mistake or a doubtful point in a source, with its place. Its description has the form of a compiler's message.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Severity: String, Hashable, Sendable {
    /// A mistake: no definition of any source may be applied.
    case error
    /// A doubtful point, which keeps nothing from being applied.
    case warning
    /// A consequence of a valid definition that its author should know; only `baton validate` shows it.
    case note
  }

  /// The name of the source as the user wrote it.
  package var file: String
  package var position: Position = .start
  package var severity: Severity = .error
  package var message: String
  /// The line of the source, and a caret below it; `nil` if the source has no such line.
  package var excerpt: Excerpt?

  /// The problem on one line, without the excerpt: `jobs/export.yaml:7:3: error: unknown key …`.
  package var headline: String { "\(file):\(position): \(severity.rawValue): \(message)" }

  /// The headline, then the line of the source and a caret, if there is an excerpt; without a line break at the end.
  package var description: String { excerpt.map { "\(headline)\n\($0)" } ?? headline }
}

/// A line of a source, and a line with a caret below the place of the problem.
package struct Excerpt: Hashable, Sendable, CustomStringConvertible {
  package var line: String
  package var caret: String

  /// The most characters of a line that are shown, so that a file of one line cannot flood a terminal.
  static let widestLine = 160

  /// - Parameter column: the column of the caret, from 1, in Unicode scalars.
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
