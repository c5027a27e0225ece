import Testing

/// Lint as a test: everything that a stranger would stumble over and a compiler does not see.
@Suite struct TidyTests {
  @Test func `the tree is tidy`() {
    let tree = Tree.ofThisRepository
    #expect(tree.files.count > 500, "the tree was not found")
    let problems = Tidy.problems(in: tree)
    #expect(problems.isEmpty, "\n\(problems.joined(separator: "\n"))")
  }

  /// Each rule finds what it is for, and leaves what is right alone.
  @Test(arguments: [
    ("/// " + String(repeating: "long ", count: 24), "/// short", "columns"),
    ("let a = 1 ", "let a = 1", "white space"),
    ("// TO" + "DO: later", "// later", "unfinished"),
    ("// see /ho" + "me/anna/baton", "// see /var/lib/baton", "path of one machine"),
    ("/// See telemetry.md.", "/// See https://example.com/telemetry.md.", "no page telemetry.md"),
    ("/// Kept (promises P1 and P9).", "/// Kept (promise P1).", "no promise P9"),
    ("/// Bounded (contract, row 46).", "/// Bounded (contract, row 45).", "no row 46"),
    ("/// Whoever comes first.", "/// The worker that comes first.", "leaves the reader to guess"),
  ])
  func `a rule finds what it is for`(wrong: String, right: String, problem: String) {
    #expect(Tidy.problems(in: tree(wrong)).contains { $0.contains(problem) })
    #expect(Tidy.problems(in: tree(right)).isEmpty)
  }

  @Test func `a script has to be executable, and a page has to be named somewhere`() {
    var tree = tree("// right")
    tree.files.append(Tree.File(path: "Scripts/check", text: "#!/bin/bash"))
    tree.files.append(Tree.File(path: "Documentation/lost.md", text: "Nothing refers here."))
    let problems = Tidy.problems(in: tree)
    #expect(problems.contains("Scripts/check:1: error: a script that cannot be run: chmod +x Scripts/check"))
    #expect(problems.contains("Documentation/lost.md:1: error: no other file names this file"))
  }

  /// A tree with a page of promises, and a source file with this line.
  private func tree(_ line: String) -> Tree {
    Tree(files: [
      Tree.File(path: "Documentation/developers/promises.md", text: "## P1: nothing is lost"),
      Tree.File(path: "README.md", text: "See [promises](Documentation/developers/promises.md)."),
      Tree.File(path: "Tests/ContractRows/rows.tsv", text: "45\trefresh\tthe last row"),
      Tree.File(path: "Sources/A.swift", text: line),
    ])
  }
}
