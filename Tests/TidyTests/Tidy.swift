import Foundation

/// The rules for all text of the repository that a compiler does not check. Each rule takes a tree and returns its
/// problems, one line each, in the form of a compiler: `FILE:LINE: error: what is wrong`.
enum Tidy {
  static let rules: [@Sendable (Tree) -> [String]] = [
    columns, trailingSpace, unfinished, homes, pages, promises, rows, words, scripts, orphans, documented, samples,
  ]

  static func problems(in tree: Tree) -> [String] { rules.flatMap { $0(tree) } }

  // MARK: Form

  static let mostColumns = 120

  /// The formatter leaves comments and pages alone, so their lines are measured here. Tables, code blocks and the
  /// targets of links cannot be wrapped.
  @Sendable static func columns(_ tree: Tree) -> [String] {
    tree.files.filter { ($0.isSwift || $0.isPage) && !$0.isGenerated }.flatMap { file in
      file.prose.filter { _, line in
        line.utf8.count > mostColumns && line.count > mostColumns && !["|", "[", "<"].contains(line.first)
          && !line.contains("](")
      }.map { "\(file.path):\($0): error: \($1.count) columns, and \(mostColumns) is the limit" }
    }
  }

  @Sendable static func trailingSpace(_ tree: Tree) -> [String] {
    tree.files.filter { !$0.isGenerated && !$0.isTable }.flatMap { file in
      file.lines.enumerated().filter { $1.utf8.last == UInt8(ascii: " ") || $1.utf8.last == UInt8(ascii: "\t") }.map {
        "\(file.path):\($0.offset + 1): error: white space at the end of the line"
      }
    }
  }

  // MARK: What does not belong here

  /// The words are written in two parts, so that this file does not find itself.
  @Sendable static func unfinished(_ tree: Tree) -> [String] {
    let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
    return tree.files.filter { file in marks.contains(where: file.contains) }.flatMap { file in
      file.lines.enumerated().filter { line in line.element.words.contains { marks.contains(String($0)) } }.map {
        "\(file.path):\($0.offset + 1): error: this is unfinished: finish it, or open an issue"
      }
    }
  }

  @Sendable static func homes(_ tree: Tree) -> [String] {
    let homes = ["/ho" + "me/", "/Use" + "rs/", "/ro" + "ot/"]
    return tree.files.filter { file in !file.path.hasPrefix("Tests/") && homes.contains(where: file.contains) }.flatMap
    {
      file in
      file.lines.enumerated().filter { line in
        homes.contains { line.element.range(of: $0)?.upperBound.isBeforeAName(in: line.element) == true }
      }.map { "\(file.path):\($0.offset + 1): error: this is a path of one machine or person" }
    }
  }

  // MARK: Citations

  /// A page that a line names is there: relative to the root, or beside the file that names it.
  @Sendable static func pages(_ tree: Tree) -> [String] {
    let paths = Set(tree.files.map(\.path))
    return cited(#/[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.md\b/#, onLinesWith: ".md", in: tree).filter { citation in
      let folder = citation.file.path.split(separator: "/").dropLast().joined(separator: "/")
      return !paths.contains(citation.name.normal) && !paths.contains("\(folder)/\(citation.name)".normal)
    }.map { "\($0.place): error: there is no page \($0.name) in the repository" }
  }

  /// A promise that a line names is a heading of the page of promises.
  @Sendable static func promises(_ tree: Tree) -> [String] {
    let page = tree.files.first { $0.path == "Documentation/developers/promises.md" }
    let known = Set(
      (page?.lines ?? []).filter { $0.hasPrefix("## P") }.map { String($0.dropFirst(3).prefix { $0 != ":" }) })
    return cited(#/\bP[0-9]+\b/#, onLinesWith: "romise", in: tree).filter { citation in
      citation.line.contains(#/\b[Pp]romises? P[0-9]/#) && !known.contains(citation.name)
    }.map { "\($0.place): error: Documentation/developers/promises.md has no promise \($0.name)" }
  }

  /// A row of the contract that a comment names is in the table of the rows.
  @Sendable static func rows(_ tree: Tree) -> [String] {
    let rows = tree.files.first { $0.path == "Tests/ContractRows/rows.tsv" }?.lines ?? []
    let known = Set(rows.map { String($0.prefix { $0 != "\t" }) })
    return cited(#/\(contract, rows? [0-9]+/#, onLinesWith: "(contract, row", in: tree).filter { citation in
      !known.contains(citation.name.split(separator: " ").last.map(String.init) ?? "")
    }.map { "\($0.place): error: the contract has no \($0.name.split(separator: ", ").last ?? "")" }
  }

  // MARK: Language

  /// Words whose noun is out of reach of the reader, and what to say.
  static let banned = [
    "anew": "again", "whoever": "the caller, the worker …", "somebody": "a person, a process …",
    "nobody": "no process, nothing …",
  ]

  @Sendable static func words(_ tree: Tree) -> [String] {
    let files = tree.files.filter {
      ($0.isSwift || $0.isPage) && !$0.isGenerated && !$0.path.hasPrefix("Tests/TidyTests/")
    }
    return files.flatMap { file in
      file.prose.flatMap { number, text in
        text.replacing(#/`[^`]*`/#, with: "").words.map { $0.lowercased() }.compactMap { word in
          banned[word].map { "\(file.path):\(number): error: '\(word)' leaves the reader to guess; say: \($0)" }
        }
      }
    }
  }

  // MARK: Files

  @Sendable static func scripts(_ tree: Tree) -> [String] {
    tree.files.filter { ["Scripts", ".ci"].contains($0.path.split(separator: "/").first ?? "") }.compactMap { file in
      guard file.text.hasPrefix("#!"), !file.isExecutable else { return nil }
      return "\(file.path):1: error: a script that cannot be run: chmod +x \(file.path)"
    }
  }

  /// A page, a script, a setting or an image that no other file names cannot be found.
  @Sendable static func orphans(_ tree: Tree) -> [String] {
    let folders: Set = ["Documentation", "Scripts", "Config", "Deploy"]
    return tree.files.filter { folders.contains(String($0.path.split(separator: "/")[0])) }.filter { file in
      !tree.files.contains { $0.path != file.path && $0.contains(file.name) }
    }.map { "\($0.path):1: error: no other file names this file" }
  }

  // MARK: Helpers

  /// The matches of `name` on the lines that contain `part`. Addresses on the web are left out, and so are the files
  /// that cite on purpose what does not exist.
  private static func cited(
    _ name: Regex<Substring>, onLinesWith part: String, in tree: Tree
  ) -> [(file: Tree.File, place: String, name: String, line: Substring)] {
    tree.files.filter {
      $0.contains(part) && !$0.path.hasPrefix("Tests/TidyTests/") && $0.name != "check-checks"
    }.flatMap { file in
      file.lines.enumerated().filter { $1.range(of: part) != nil }.flatMap { index, line in
        line.replacing(#/https?:\/\/[^ )]*/#, with: "").matches(of: name).map {
          (file, "\(file.path):\(index + 1)", String($0.output), line)
        }
      }
    }
  }
}

extension Tree.File {
  /// The lines that a person wrote as text, with their numbers: comments of Swift, and pages without their code blocks.
  fileprivate var prose: [(number: Int, line: Substring)] {
    var isCode = false
    return lines.enumerated().filter { _, line in
      let start = line.drop { $0 == " " }
      if isSwift { return start.hasPrefix("//") }
      let isFence = start.hasPrefix("```")
      if isFence { isCode.toggle() }
      return !isFence && !isCode
    }.map { ($0 + 1, $1) }
  }
}

extension StringProtocol {
  fileprivate var words: [SubSequence] { split { !$0.isLetter && $0 != "_" } }

  /// The path without `.` and `..`.
  fileprivate var normal: String {
    var parts: [SubSequence] = []
    for part in split(separator: "/") where part != "." {
      if part == "..", parts.last != nil { parts.removeLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }
}

extension Substring.Index {
  fileprivate func isBeforeAName(in line: Substring) -> Bool { self < line.endIndex && line[self].isLetter }
}
