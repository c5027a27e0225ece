import BatonBase
import BatonModel

/// A path with `*`, `?`, `[…]`, `{a,b}` and `**`, as in bash with globstar. `**` between slashes stands for any number
/// of folders, including zero. A name that begins with a dot is matched only by a part that begins with a dot, and `**`
/// does not enter folders with a dot.
struct GlobPattern: Sendable {
  enum Part: Hashable, Sendable {
    case anyFolders
    case name(String)
  }

  /// A pattern with more alternatives is refused: in `{a,b}{c,d}…` each pair doubles them.
  static let maximumAlternatives = 1024

  /// One alternative for each combination of the braces' options.
  let alternatives: [[Part]]
  let isAbsolute: Bool

  /// - Throws: `CommandError` with the code `.badItems` for a pattern that cannot match anything.
  init(_ text: String) throws {
    let texts = try Braces.expand(text, limit: Self.maximumAlternatives)
    isAbsolute = text.hasPrefix("/")
    guard texts.allSatisfy({ $0.hasPrefix("/") == text.hasPrefix("/") }) else {
      throw CommandError(.badItems, "the glob '\(text)' mixes absolute and relative paths: write two definitions")
    }
    alternatives = texts.map { text in
      text.split(separator: "/").filter { $0 != "." }.map { $0 == "**" ? .anyFolders : .name(String($0)) }
    }
    let depth = base.count
    guard alternatives.allSatisfy({ !$0.isEmpty && !$0.dropFirst(depth).contains(.name("..")) }) else {
      throw CommandError(
        .badItems, "the glob '\(text)' is empty or has '..' after a wildcard: write a path without '..'")
    }
  }

  /// The folders without a wildcard that all alternatives begin with. The walk begins below them.
  var base: [String] {
    var base: [String] = []
    while let name = literal(at: base.count), alternatives.allSatisfy({ $0.count > base.count + 1 }) {
      base.append(name)
    }
    return base
  }

  /// The name that all alternatives have at `index`. `nil` if they differ, or if the name has a wildcard or a
  /// backslash.
  private func literal(at index: Int) -> String? {
    guard case .name(let name)? = alternatives.first.flatMap({ index < $0.count ? $0[index] : nil }),
      !name.contains(where: { "*?[\\".contains($0) }),
      alternatives.allSatisfy({ index < $0.count && $0[index] == .name(name) })
    else { return nil }
    return name
  }
}

/// Matches one name against one part of a pattern.
///
/// Names are compared as UTF-8, so that `?` is one character on every host. The locale has to be set for this, because
/// fnmatch(3) of glibc uses the locale of the thread.
enum NameMatch {
  /// The locale is never freed and never changed.
  nonisolated(unsafe) private static let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

  static func matches(_ name: UnsafePointer<CChar>, _ pattern: String) -> Bool {
    let before = locale.map { uselocale($0) }
    defer { if let before { uselocale(before) } }
    return fnmatch(pattern, name, FNM_PERIOD) == 0
  }
}
