import BatonModel
import ContractRows
import Testing

@Suite struct IdentifierTests {
  static let longest = String(repeating: "a", count: JobIdentifier.maximumBytes)

  @Test(arguments: ["a", "com.example.photos-export_2", "A.b.C", "0", "-", longest])
  func `parts of letters, digits, hyphens and underscores are an identifier`(text: String) {
    #expect(JobIdentifier(text)?.rawValue == text)
    #expect(IdentifierPattern(text)?.rawValue == text)
    #expect(IdentifierPattern(text)?.literal == JobIdentifier(text))
  }

  @Test(arguments: [
    "", ".", "a.", ".a", "a..b", "a b", "a/b", "*", ".*", "a*", "a.*.b", "a.**", "*.a", "ä", "a\u{301}", "a\n",
    "a.\u{0}",
    "a.*\u{301}", longest + "a",
  ])
  func `anything else is none, nor a pattern`(text: String) {
    #expect(JobIdentifier(text) == nil)
    #expect(IdentifierPattern(text) == nil)
  }

  @Test(.contract(2.1), arguments: ["a.*", "com.example.export.*"])
  func `a trailing wildcard makes a pattern, not an identifier`(text: String) {
    #expect(JobIdentifier(text) == nil)
    #expect(IdentifierPattern(text)?.isWildcard == true)
    #expect(IdentifierPattern(text)?.literal == nil)
  }

  @Test func `a pattern has the same limit as an identifier`() {
    #expect(IdentifierPattern(String(repeating: "a", count: 253) + ".*") != nil)
    #expect(IdentifierPattern(String(repeating: "a", count: 254) + ".*") == nil)
  }

  @Test(
    .contract(2.2),
    arguments: [
      ("a.b", "a.b", true, nil), ("a.b", "a.B", false, nil), ("a.b", "a.b.c", false, nil), ("a.*", "a.b", true, "b"),
      ("a.*", "a.b.c", true, "b.c"), ("a.*", "a", false, nil), ("a.*", "ab", false, nil), ("a.*", "b.a", false, nil),
      ("a.b.*", "a.b", false, nil), ("A.*", "a.b", false, nil),
    ])
  func `a wildcard matches everything below it, and says what it stands for`(
    pattern: String, identifier: String, isMatch: Bool, value: String?
  ) {
    #expect(IdentifierPattern(pattern)!.matches(JobIdentifier(identifier)!) == isMatch)
    #expect(IdentifierPattern(pattern)!.wildcardValue(in: JobIdentifier(identifier)!) == value)
  }

  @Test(arguments: [
    ("a.b", "a.b", true, true, false), ("a.b", "a.c", false, false, false), ("a.*", "a.b", true, false, false),
    ("a.*", "a", false, false, false), ("a.*", "a.*", true, true, false), ("a.*", "a.b.*", true, false, true),
    ("a.*", "a.b.c", true, false, false), ("a.b.*", "a.c.*", false, false, false), ("a.*", "ab.*", false, false, false),
  ])
  func `patterns cover and overlap, and a literal under a wildcard is no overlap`(
    first: String, second: String, covers: Bool, isCovered: Bool, overlap: Bool
  ) {
    let (first, second) = (IdentifierPattern(first)!, IdentifierPattern(second)!)
    #expect(first.covers(second) == covers)
    #expect(second.covers(first) == isCovered)
    #expect(first.overlaps(second) == overlap)
    #expect(second.overlaps(first) == overlap)
  }
}
