import BatonModel
import Foundation
import Testing

@testable import BatonWorker

@Suite struct GlobTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private static let files = [
    "a.jpg", "b.JPG", "c.png", ".hidden.jpg", "sub/d.jpg", "sub/deep/e.jpg", "sub/.dot/f.jpg", "z/g.jpg", "[x].jpg",
    "two words.jpg", "é.jpg", "éé.jpg", "sub.jpg/inner.txt", "A.jpg",
  ]

  private func matches(_ pattern: String, pass: ItemPassing = .arguments) throws -> [String] {
    var listing = try GlobListing(
      pattern: pattern, directory: fixture.directory, host: HostName("box"), pass: pass)
    var items: [String] = []
    while let item = try listing.next() { items.append(item) }
    return items
  }

  @Test(arguments: [
    ("*.jpg", ["A.jpg", "[x].jpg", "a.jpg", "two words.jpg", "é.jpg", "éé.jpg"]),
    ("?.jpg", ["A.jpg", "a.jpg", "é.jpg"]),
    ("[[:upper:]].jpg", ["A.jpg"]),
    ("[!a-z].jpg", ["A.jpg", "é.jpg"]),
    ("\\[x\\].jpg", ["[x].jpg"]),
    (".*.jpg", [".hidden.jpg"]),
    (
      "**/*.jpg",
      ["A.jpg", "[x].jpg", "a.jpg", "sub/d.jpg", "sub/deep/e.jpg", "two words.jpg", "z/g.jpg", "é.jpg", "éé.jpg"]
    ),
    ("sub/**", ["sub/d.jpg", "sub/deep/e.jpg"]),
    ("sub/**/deep/**/*.jpg", ["sub/deep/e.jpg"]),
    ("**/.dot/*", ["sub/.dot/f.jpg"]),
    ("sub/.dot/*", ["sub/.dot/f.jpg"]),
    ("{sub,z}/*.jpg", ["sub/d.jpg", "z/g.jpg"]),
    (
      "{**/*.jpg,a.*,{a,c}.png}",
      [
        "A.jpg", "[x].jpg", "a.jpg", "c.png", "sub/d.jpg", "sub/deep/e.jpg", "two words.jpg", "z/g.jpg", "é.jpg",
        "éé.jpg",
      ]
    ),
    ("{a}.jpg", []),
    ("a.jpg", ["a.jpg"]),
    ("./sub//d.jpg", ["sub/d.jpg"]),
    ("../work/a.jpg", ["../work/a.jpg"]),
    ("sub.jpg", []),
  ])
  func `files match as in bash with globstar, in the order of their bytes`(pattern: String, expected: [String]) throws {
    for file in Self.files { try fixture.write("", to: file) }
    #expect(try matches(pattern) == expected)
  }

  @Test func `an absolute pattern gives absolute paths`() throws {
    try fixture.write("", to: "sub/d.jpg")
    #expect(try matches(fixture.directory + "/**/*.jpg") == [fixture.directory + "/sub/d.jpg"])
  }

  @Test func `links to files count, links to folders are not followed, others are no files`() throws {
    try fixture.write("", to: "real/x.jpg")
    let folder = fixture.root + "/work/"
    for (name, target) in [
      ("file.jpg", "real/x.jpg"), ("folder.jpg", "real"), ("broken.jpg", "nothing"), ("loop", "."),
    ] {
      try FileManager.default.createSymbolicLink(atPath: folder + name, withDestinationPath: target)
    }
    mkfifo(folder + "pipe.jpg", 0o600)
    #expect(try matches("**/*.jpg") == ["file.jpg", "real/x.jpg"])
    #expect(try matches("folder.jpg/*") == ["folder.jpg/x.jpg"])
  }

  @Test func `a folder that is not there is an error, one without a match is not`() throws {
    #expect(try matches("*.jpg") == [])
    let error = try #require(throws: CommandError.self) { try matches("no/such/*.jpg") }
    #expect(error.message.contains("/work/no/such/, which is not a folder on box"))
  }

  @Test func `a name that is not UTF-8 is an error that names the file, unless nothing asks for it`() throws {
    let name: [CChar] = Array((fixture.root + "/work/bad").utf8CString.dropLast()) + [-1] + Array(".jpg".utf8CString)
    close(open(name, O_CREAT | O_WRONLY, 0o600))
    let error = try #require(throws: CommandError.self) { try matches("*.jpg") }
    #expect(error.message.contains("/work/bad\u{FFFD}.jpg on box has a name that is not UTF-8"))
    #expect(try matches("*.png") == [])
  }

  @Test func `a line break in a name counts when items go one per line`() throws {
    try fixture.write("", to: "a\nb.jpg")
    #expect(try matches("*.jpg") == ["a\nb.jpg"])
    #expect(throws: CommandError.self) { try matches("*.jpg", pass: .stdin) }
  }

  @Test(.enabled(if: getuid() != 0, "root reads every folder"))
  func `a folder that may not be read is an error`() throws {
    try fixture.write("", to: "locked/x.jpg")
    chmod(fixture.root + "/work/locked", 0)
    defer { chmod(fixture.root + "/work/locked", 0o700) }
    #expect(throws: CommandError.self) { try matches("**/*.jpg") }
    #expect(try matches("*.jpg") == [])
  }

  @Test(arguments: ["", "/", "{a,/b}", "*/../x", String(repeating: "{a,b}", count: 11)])
  func `a pattern that means nothing is an error`(pattern: String) throws {
    #expect(throws: CommandError.self) { try GlobPattern(pattern) }
  }

  @Test(arguments: [
    ("a{b,c}d", ["abd", "acd"]), ("{a,b{c,d}}", ["a", "bc", "bd"]), ("{a}", ["{a}"]), ("{a,b", ["{a,b"]),
    ("\\{a,b}", ["\\{a,b}"]), ("{,x}", ["", "x"]), ("{a}{b,c}", ["{a}b", "{a}c"]),
  ])
  func `braces stand for every choice`(text: String, expected: [String]) throws {
    #expect(try Braces.expand(text, limit: 100) == expected)
  }

  @Test func `the first launch freezes what it finds in pages, and the batches come from there`() async throws {
    for index in 0..<2100 { try fixture.write("", to: "in/\(index)") }
    let runtime = try await fixture.run(fixture.shell("echo $# >> log", items: .glob("in/*"), batchSize: 1000))
    #expect(runtime.pages == [1000, 1000, 100])
    #expect(runtime.items == (0..<2100).map { "in/\($0)" }.sorted())
    #expect(try fixture.read("log") == "1000\n1000\n100\n")
  }
}
