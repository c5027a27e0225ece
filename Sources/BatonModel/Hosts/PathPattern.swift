/// A glob for absolute paths, such as `/usr/bin/ffmpeg` or `/opt/jobs/**`. In a name, `*` stands for any characters and
/// `?` for one; the name `**` stands for any number of names, including none.
public struct PathPattern: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The text of the pattern.
  public let rawValue: String

  /// Checks `text` and makes it a pattern; `nil` if the pattern is not an absolute path, or has `.` or `..` as a name:
  /// no path that is compared has them.
  public init?(_ text: String) {
    guard text.hasPrefix("/"), !Self.names(of: text).contains(where: { $0 == "." || $0 == ".." }) else { return nil }
    rawValue = text
  }

  /// The text of the pattern.
  public var description: String { rawValue }

  /// Whether the pattern is the path of one file.
  package var isLiteral: Bool { !rawValue.contains { $0 == "*" || $0 == "?" } }

  /// The folder that the pattern names with everything in it: the path itself, or what stands before a final `/**`.
  /// `nil` if there is a wildcard in it.
  package var folder: String? {
    let path = rawValue.hasSuffix("/**") ? String(rawValue.dropLast(3)) : rawValue
    return path.contains { $0 == "*" || $0 == "?" } ? nil : path.isEmpty ? "/" : path
  }

  /// - Parameter path: an absolute path.
  package func matches(_ path: String) -> Bool {
    Glob.matches(Self.names(of: rawValue), Self.names(of: path), anything: "**") { pattern, name in
      Glob.matches(Array(pattern.unicodeScalars), Array(name.unicodeScalars), anything: "*") { $0 == "?" || $0 == $1 }
    }
  }

  private static func names(of path: String) -> [Substring] { path.split(separator: "/") }
}

/// The comparison of patterns.
enum Glob {
  /// Whether `elements` match `pattern`, in which `anything` stands for any number of elements. One that took too
  /// little takes one element more, and the ones before it stay as they are, so the time is at most the product of both
  /// lengths: patterns come from other processes.
  static func matches<Element: Equatable>(
    _ pattern: [Element], _ elements: [Element], anything: Element, one: (Element, Element) -> Bool
  ) -> Bool {
    var (next, index) = (0, 0)
    var last: (next: Int, index: Int)?
    while index < elements.count {
      if next < pattern.count, pattern[next] == anything {
        next += 1
        last = (next, index)
      } else if next < pattern.count, one(pattern[next], elements[index]) {
        (next, index) = (next + 1, index + 1)
      } else if let again = last {
        last = (again.next, again.index + 1)
        (next, index) = (again.next, again.index + 1)
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == anything }
  }
}
