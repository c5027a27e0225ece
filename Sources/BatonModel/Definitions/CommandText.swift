/// One argument of `work.command`, parsed for its placeholders.
///
/// `${wildcard}` stands for the part of the identifier that the pattern's `*` matches. `$${` stands for the text `${`:
/// the command gets `$${HOME}` as `${HOME}`. The text is read from left to right. Any other `${` is refused, because no
/// shell expands the arguments: an author who means a shell's `${f%.*}` writes `$${f%.*}`.
///
/// The reader of job files, the coordinator and the worker all use this parser. It is for the arguments of
/// `work.command` only: `work.environment`, `work.directory` and `work.items` have no placeholders.
package struct CommandText: Hashable, Sendable {
  private enum Part: Hashable, Sendable {
    case text(String)
    case wildcard
  }

  /// Why a text cannot be an argument of a command.
  package enum Mistake: Error, Hashable, Sendable {
    /// The text has a NUL character, which cannot be passed to a program.
    case nul
    /// The text has a `${` that is neither `${wildcard}` nor escaped. The value is the text from the `${` to the next
    /// `}`, or to the end.
    case unknownPlaceholder(String)
  }

  package static let placeholder = "${wildcard}"

  private var parts: [Part] = []

  /// - Throws: a ``Mistake`` if the text has a NUL character or an unknown placeholder.
  package init(_ text: String) throws(Mistake) {
    if text.utf8.contains(0) { throw .nul }
    var plain = ""
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      plain += rest[..<dollar]
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        plain += "${"
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix(Self.placeholder) {
        if !plain.isEmpty { parts.append(.text(plain)) }
        plain = ""
        parts.append(.wildcard)
        rest = rest.dropFirst(Self.placeholder.count)
      } else if rest.hasPrefix("${") {
        let end = rest.firstIndex(of: "}").map(rest.index(after:)) ?? rest.endIndex
        throw .unknownPlaceholder(String(rest[..<end]))
      } else {
        plain += "$"
        rest = rest.dropFirst()
      }
    }
    plain += rest
    if !plain.isEmpty { parts.append(.text(plain)) }
  }

  package var usesWildcard: Bool { parts.contains(.wildcard) }

  /// True if the argument begins with `${wildcard}`. If the match then begins with `-`, a program could take the
  /// argument for an option.
  package var beginsWithWildcard: Bool { parts.first == .wildcard }

  /// The argument as the command gets it, with `wildcard` in the place of each `${wildcard}`.
  package func expanded(wildcard: String) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let plain): text += plain
      case .wildcard: text += wildcard
      }
    }
  }
}
