import BatonModel
import Testing

@testable import BatonSpec

@Suite("A definition is written as a job file that means the same")
struct WritingTests {
  /// What the job file with this text declares.
  private func declared(_ yaml: String) throws -> Definition {
    let specification = Specification(
      parsing: Source(name: "written.yaml", text: yaml), options: SpecificationOptions(now: Corpus.now))
    #expect(specification.errors == [], "\(yaml)")
    return try #require(specification.definitions.first?.definition)
  }

  @Test("every good file is the same after it was read, written and read again", arguments: Corpus.good)
  func isTheSame(name: String) throws {
    for located in try Corpus.read(name, in: "good").definitions {
      let yaml = try DefinitionValue(located.definition).yaml
      #expect(try declared(yaml) == located.definition, "\(yaml)")
    }
  }

  private static let texts = [
    "plain", "with space", " leading", "trailing ", "yes", "No", "null", "~", "1e3", "0x1F", "0o17", "012", "12:30",
    "1_000",
    "true", "-7", "2.5", "", "- dash", "? question", "# hash", "a: b", "a #b", "*alias", "&anchor", "!tag", "%percent",
    "@at",
    "`tick", "{brace", "[bracket", "\"double\"", "it's", "back\\slash", "two\nlines", "tab\there", "\u{1}", "\u{7F}",
    "é漢🙂", "${wildcard}", "$${a}", "---", "...", "<<", "=", ".inf", "|", ">", ",", "2026-03-01", "\u{85}", "\u{2028}",
  ]

  @Test("text that YAML could take for something else survives", arguments: texts)
  func survives(text: String) throws {
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.a.*"), kind: .processing)
    definition.work = Work(command: ["echo", text, "end"])
    if !text.contains("${") { definition.work?.environment = ["A": text] }
    definition.budget = nil
    definition.requirements.labels = ["zone": "yes", "floor": "2"]
    let yaml = try DefinitionValue(definition).yaml
    #expect(try declared(yaml) == definition, "\(yaml)")
  }

  @Test(
    "dates and sizes are written exactly",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (1_772_346_600_250_000_000, "2026-03-01T06:30:00.25Z"),
      (951_782_400_000_000_001, "2000-02-29T00:00:00.000000001Z"),
      (9_183_110_399_000_000_000, "2260-12-31T23:59:59Z"),
    ] as [(Int64, String)])
  func isExact(nanoseconds: Int64, text: String) throws {
    #expect(DateText.text(Timestamp(nanoseconds: nanoseconds)) == text)
    #expect(try DateText.parse(text) == Timestamp(nanoseconds: nanoseconds))
  }

  @Test(arguments: ["1KB", "999KiB", "8GiB", "10GB", "512MiB", "3TB", "1TiB"])
  func isWhole(text: String) throws {
    #expect(SizeText.text(try SizeText.parse(text)) == text)
  }

  @Test("what would change is told by key")
  func changes() throws {
    var before = Definition(pattern: IdentifierPattern(trusted: "com.example.a"), kind: .processing)
    before.work = Work(command: ["./a.sh"], directory: "/srv", items: .range(1...10))
    var after = before
    after.budget = .seconds(1_200)
    after.work?.command = ["./b.sh", "x y", "1"]
    after.work?.directory = nil
    let changes = DefinitionChange.between(DefinitionValue(before), DefinitionValue(after))
    #expect(changes.map(\.key) == ["budget", "work.command", "work.directory"])
    #expect(changes.map { $0.before?.onOneLine } == [nil, "[./a.sh]", "/srv"])
    #expect(changes.map { $0.after?.onOneLine } == ["20m", "[./b.sh, x y, \"1\"]", nil])
    #expect(DefinitionChange.between(DefinitionValue(before), DefinitionValue(before)).isEmpty)
  }
}
