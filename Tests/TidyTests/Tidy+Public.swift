import Foundation

/// The rules for what programs outside of this repository use.
extension Tidy {
  /// The modules that have public declarations: the products, and those whose types the products have.
  private static let modules = [
    "BatonClient", "BatonHandler", "BatonHost", "BatonModel", "BatonTestKit", "BatonTransfers", "BatonWorker",
    "BatonWorkerProgram",
  ]

  private static func isPublic(_ file: Tree.File) -> Bool {
    let folders = file.path.split(separator: "/")
    return file.isSwift && folders.count > 2 && folders[0] == "Sources" && modules.contains(String(folders[1]))
  }

  /// Each public declaration, and each case of a public enum, has a comment that says what may be relied on.
  @Sendable static func documented(_ tree: Tree) -> [String] {
    tree.files.filter(isPublic).flatMap { file in
      let lines = file.lines
      /// The indentation of the public enums that are open at a line.
      var enums: [Int] = []
      return lines.indices.compactMap { index -> String? in
        let text = lines[index].drop { $0 == " " }
        let indentation = lines[index].count - text.count
        if !text.isEmpty, let last = enums.last, indentation <= last { enums.removeLast() }
        let isCase = text.hasPrefix("case ") && enums.last == indentation - 2
        let isDeclaration = text.hasPrefix("public ") && !text.hasPrefix("public import ")
        if text.hasPrefix("public enum "), !text.hasSuffix("}") { enums.append(indentation) }
        guard isCase || isDeclaration, !isDocumented(index, lines) else { return nil }
        return "\(file.path):\(index + 1): error: a public declaration without a comment: say what may be relied on"
      }
    }
  }

  private static func isDocumented(_ index: Int, _ lines: [Substring]) -> Bool {
    let before = lines[..<index].reversed().lazy.map { $0.drop { $0 == " " } }.first { !$0.hasPrefix("@") }
    return before?.hasPrefix("///") ?? false
  }

  /// Each sample of these comments, and of the pages about these modules, is in Examples, where it is compiled.
  @Sendable static func samples(_ tree: Tree) -> [String] {
    let compiled = tree.files.filter { $0.path.hasPrefix("Examples/") && $0.isSwift }
      .map { "\n" + unindented($0.lines) + "\n" }
    let pages: Set = ["Documentation/how-to/handlers.md", "Documentation/how-to/testing.md"]
    return tree.files.filter { isPublic($0) || pages.contains($0.path) }.flatMap { file in
      blocks(of: file).filter { block in !compiled.contains { isIn($0, block.lines) } }.map {
        "\(file.path):\($0.number): error: the sample is not in Examples, where it would be compiled"
      }
    }
  }

  /// The lines without the white space at their beginnings.
  private static func unindented(_ lines: some Sequence<Substring>) -> String {
    lines.map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }

  /// Whether the parts of a sample follow each other in a source file. A line `// …` stands for what is left out.
  private static func isIn(_ source: String, _ lines: [Substring]) -> Bool {
    var rest = source[...]
    for part in lines.split(whereSeparator: { $0.contains("// …") }) {
      guard let range = rest.range(of: "\n" + unindented(part) + "\n") else { return false }
      // The line feed at the end is also that at the beginning of the next line.
      rest = rest[rest.index(before: range.upperBound)...]
    }
    return true
  }

  /// The blocks of Swift in the comments of a source file, or in a page.
  private static func blocks(of file: Tree.File) -> [(number: Int, lines: [Substring])] {
    var (found, open): ([(number: Int, lines: [Substring])], (number: Int, lines: [Substring])?) = ([], nil)
    for (index, line) in file.lines.enumerated() {
      var text = line
      if file.isSwift {
        let comment = line.drop { $0 == " " }
        guard comment.hasPrefix("///") else { continue }
        text = comment.dropFirst(3)
        if text.first == " " { text = text.dropFirst() }
      }
      if text == "```swift" {
        open = (index + 1, [])
      } else if text == "```", let block = open {
        found.append(block)
        open = nil
      } else {
        open?.lines.append(text)
      }
    }
    return found
  }
}
