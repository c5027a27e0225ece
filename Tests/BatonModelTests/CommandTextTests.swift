import BatonModel
import Testing

@Suite struct CommandTextTests {
  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("$", "$"), ("$$", "$$"), ("$HOME", "$HOME"), ("$(id)", "$(id)"),
    ("${wildcard}", "42"), ("a${wildcard}b${wildcard}", "a42b42"), ("$${f%.*}", "${f%.*}"),
    ("$${wildcard}", "${wildcard}"),
    ("$$${wildcard}", "$${wildcard}"), ("$${a}${wildcard}$${b}", "${a}42${b}"), ("x$", "x$"), ("é$${ü}", "é${ü}"),
  ])
  func `placeholders are replaced from left to right, and what is doubled is meant as it is`(
    text: String, expanded: String
  ) throws {
    #expect(try CommandText(text).expanded(wildcard: "42") == expanded)
  }

  @Test(arguments: [
    ("${f%.*}", CommandText.Mistake.unknownPlaceholder("${f%.*}")), ("a ${b", .unknownPlaceholder("${b")),
    ("${wildcards}", .unknownPlaceholder("${wildcards}")), ("${}", .unknownPlaceholder("${}")), ("a\0", .nul),
  ])
  func `anything else is refused`(text: String, mistake: CommandText.Mistake) {
    #expect(throws: mistake) { try CommandText(text) }
  }

  @Test func `a match is put in as it is, and read no more`() throws {
    #expect(try CommandText("${wildcard}").expanded(wildcard: "$${wildcard}") == "$${wildcard}")
  }

  @Test func `what a word begins with is known`() throws {
    #expect(try CommandText("${wildcard}.jpg").beginsWithWildcard)
    #expect(try !CommandText("--name=${wildcard}").beginsWithWildcard)
    #expect(try !CommandText("$${wildcard}").usesWildcard)
  }
}
