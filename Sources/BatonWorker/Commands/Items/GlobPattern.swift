import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A path with `*`, `?`, `[…]`, `{a,b}` and `**`, as bash has them with globstar: `**` between slashes crosses any
/// number of folders, none included; a name that begins with a dot is matched only by a pattern that does, and `**`
/// enters no such folder.
struct GlobPattern: Sendable {
  enum Part: Hashable, Sendable {
    case anyFolders
    case name(String)
  }

  /// More alternatives than this are refused: `{a,b}{c,d}…` doubles them with each pair.
  static let maximumAlternatives = 1024

  /// One for each way to choose from the braces.
  let alternatives: [[Part]]
  let isAbsolute: Bool

  /// - Throws: `CommandError` with code `.badItems` for a pattern that means nothing.
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
        .badItems, "the glob '\(text)' is empty, or has '..' after a wildcard: write the path without it")
    }
  }

  /// Folders that every alternative begins with, without a wildcard in them: the walk begins below them.
  var base: [String] {
    var base: [String] = []
    while let name = literal(at: base.count), alternatives.allSatisfy({ $0.count > base.count + 1 }) {
      base.append(name)
    }
    return base
  }

  /// The name without its backslashes that every alternative has there; nil if they differ or one has a wildcard.
  private func literal(at index: Int) -> String? {
    guard case .name(let name)? = alternatives.first.flatMap({ index < $0.count ? $0[index] : nil }),
      !name.contains(where: { "*?[\\".contains($0) }),
      alternatives.allSatisfy({ index < $0.count && $0[index] == .name(name) })
    else { return nil }
    return name
  }
}

/// Matches one name against one part.
///
/// Names are compared as UTF-8 whatever the host's settings are, so that `?` is one character on every host: glibc
/// takes that from the locale of the thread.
enum NameMatch {
  /// Never freed, and only read.
  nonisolated(unsafe) private static let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

  static func matches(_ name: UnsafePointer<CChar>, _ pattern: String) -> Bool {
    let before = locale.map { uselocale($0) }
    defer { if let before { uselocale(before) } }
    return fnmatch(pattern, name, FNM_PERIOD) == 0
  }
}
