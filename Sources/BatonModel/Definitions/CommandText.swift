/// One word of a command, with its placeholder.
///
/// `${wildcard}` is what the pattern's `*` matched, and `$${` is a `${` that is meant as it is: `$${HOME}` reaches the
/// command as `${HOME}`. Both are read from left to right. Any other `${` is refused, because no shell looks at the
/// words: a command that wants a shell's `${f%.*}` writes `$${f%.*}`. The reader of job files, the coordinator and the
/// worker use this one parser. It is for the words of `work.command` only: `work.environment`, `work.directory` and
/// `work.items` have no placeholders.
package struct CommandText: Hashable, Sendable {
  private enum Part: Hashable, Sendable {
    case text(String)
    case wildcard
  }

  /// Why a word cannot be a word of a command.
  package enum Mistake: Error, Hashable, Sendable {
    /// A NUL character, which no program can be given.
    case nul
    /// A `${` that stands for nothing, up to its `}`.
    case unknownPlaceholder(String)
  }

  package static let placeholder = "${wildcard}"

  private var parts: [Part] = []

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

  /// True if the word begins with what the `*` matched.
  package var beginsWithWildcard: Bool { parts.first == .wildcard }

  /// The word as the command gets it.
  package func expanded(wildcard: String) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let plain): text += plain
      case .wildcard: text += wildcard
      }
    }
  }
}
