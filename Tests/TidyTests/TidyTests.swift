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

  @Test(arguments: [
    ("public var a = 1", "/// The first letter.\npublic var a = 1", "without a comment"),
    ("@inlinable\npublic func a() {}", "/// Does it.\n@inlinable\npublic func a() {}", "without a comment"),
    (
      "/// Two.\npublic enum A {\n  case one\n}", "/// Two.\npublic enum A {\n  /// One.\n  case one\n}",
      "without a comment"
    ),
    ("/// ```swift\n/// let b = 1\n/// ```", "/// ```swift\n/// let a = 1\n/// ```", "not in Examples"),
    (
      "/// ```swift\n/// let c = 3\n/// // …\n/// let a = 1\n/// ```",
      "/// ```swift\n/// let a = 1\n/// // …\n/// let c = 3\n/// ```", "not in Examples"
    ),
  ])
  func `what other programs use is documented, with samples that are compiled`(
    wrong: String, right: String, problem: String
  ) {
    func problems(_ text: String) -> [String] {
      Tidy.problems(
        in: Tree(files: [
          Tree.File(path: "Sources/BatonHandler/A.swift", text: text),
          Tree.File(path: "Examples/A.swift", text: "func f() {\n  let a = 1\n  let b = 2\n  let c = 3\n}"),
        ]))
    }
    #expect(problems(wrong).contains { $0.contains(problem) })
    #expect(problems(right).isEmpty)
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
