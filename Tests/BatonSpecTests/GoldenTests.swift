import BatonSpec
import Foundation
import Testing

@Suite("Bad files are refused with all that is wrong with them")
struct GoldenTests {
  @Test("there are enough bad files")
  func isLargeEnough() {
    #expect(Corpus.bad.count >= 60)
  }

  @Test("the problems have their recorded texts", arguments: Corpus.bad)
  func problems(name: String) throws {
    let specification = try Corpus.read(name, in: "bad")
    #expect(specification.hasErrors)
    let text = specification.problems.map { "\($0)\n" }.joined()
    let path = "\(Corpus.root)/Corpus/bad/\(name.replacing(/\.yaml$/, with: "")).expected"
    if Corpus.isRecording { try Data(text.utf8).write(to: URL(filePath: path)) }
    let expected = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    #expect(text == expected)
  }

  @Test("each problem points into its file", arguments: Corpus.bad)
  func positions(name: String) throws {
    let sources = try Corpus.sources(name, in: "bad")
    for problem in try Corpus.read(name, in: "bad").problems {
      let source = try #require(sources.first { $0.name == problem.file })
      let lines = String(decoding: source.bytes, as: UTF8.self).split(
        omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      #expect((1...lines.count).contains(problem.position.line))
      #expect(problem.position.column >= 1)
      #expect(problem.position.column <= lines[problem.position.line - 1].unicodeScalars.count + 1)
    }
  }
}
