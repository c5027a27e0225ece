import BatonSpec
import Testing

@Suite("No text hangs or crashes the reader")
struct HostileTests {
  private func read(bytes: [UInt8]) -> Specification {
    let options = SpecificationOptions(now: Corpus.now)
    return Specification(parsing: Source(name: "job.yaml", bytes: bytes), options: options)
  }

  private let head = "identifier: com.example.job\nkind: processing\n"

  @Test("an empty file is an error at 1:1", arguments: ["", "\n\n", "# nothing\n", "---\n", "\u{FEFF}", "---\n...\n"])
  func empty(text: String) {
    let problems = BatonSpecTests.read(text).problems
    #expect(problems.map(\.position) == [.start])
    #expect(problems.first?.message.hasPrefix("the file is empty") == true)
  }

  @Test("a binary file is reported once, with the position of the first bad byte")
  func binary() {
    let image: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
    #expect(
      read(bytes: image).problems.map(\.headline) == [
        "job.yaml:1:1: error: the file is not UTF-8 text from here on; save it as UTF-8"
      ])
    #expect(
      read(bytes: Array("kind: a\nb\0".utf8)).problems.map(\.headline) == [
        "job.yaml:2:2: error: the file is binary: it has a NUL byte here"
      ])
    #expect(
      read(bytes: Array("kind: \u{1B}[31m".utf8)).problems.map(\.headline) == [
        "job.yaml:1:7: error: the control character U+001B cannot stand in YAML; remove it"
      ])
    #expect(
      read(bytes: [0xFF, 0xFE, 0x61, 0]).problems.map(\.headline) == [
        "job.yaml:1:1: error: the file is UTF-16; save it as UTF-8"
      ])
  }

  @Test("a file of 11 MiB is refused unread")
  func large() {
    let problems = read(bytes: [UInt8](repeating: UInt8(ascii: "#"), count: 11 << 20)).problems
    #expect(
      problems.map(\.headline) == [
        "job.yaml:1:1: error: the file is larger than 10 MiB; split it, or put long lists of items in a file of their own"
      ])
  }

  /// The tests take these texts by index, because the arguments of a test are printed.
  private static let deepTexts = [
    String(repeating: "[", count: 100_000), String(repeating: "{a: ", count: 100_000),
    String(repeating: "- ", count: 100_000) + "x", String(repeating: "? ", count: 100_000) + "x",
    String(repeating: "[{a: ", count: 50_000),
    (0..<2_000).map { String(repeating: " ", count: $0) + "a:\n" }.joined(),
    String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000),
  ]

  @Test("nesting of 100,000 levels is refused, in every style", arguments: deepTexts.indices)
  func deep(number: Int) {
    let problems = BatonSpecTests.read(Self.deepTexts[number]).problems
    #expect(problems.map(\.message) == ["more than 64 levels of nesting, aliases included; a job needs no more than 5"])
  }

  @Test("aliases count as what they stand for, in depth")
  func deepByAliases() {
    let levels = (1...70).map { "a\($0): &a\($0) [*a\($0 - 1)]\n" }.joined()
    let problems = BatonSpecTests.read("a0: &a0 x\n" + levels).problems
    #expect(problems.count == 1)
    #expect(problems.first?.message.hasPrefix("more than 64 levels") == true)
  }

  @Test("aliases count as what they stand for, in text")
  func longByAliases() {
    let list = repeatElement("*long", count: 70).joined(separator: ", ")
    let text = "title: &long \(String(repeating: "x", count: 1_000))\nwork: {command: [\(list)]}\n"
    let problems = BatonSpecTests.read(head + text).problems
    #expect(problems.map { $0.message.prefix(21) } == ["more than 64 KiB of t"])
  }

  @Test("the largest list that is allowed is read, and one more value is not")
  func nodeBudget() {
    // The nodes beside the list's elements: the top mapping, its three keys and two plain values, the mapping of `work`
    // with its keys and values.
    let job = { (count: Int) in
      self.head
        + "work: {command: [/bin/true], items: {list: [\(repeatElement("a", count: count).joined(separator: ","))]}}\n"
    }
    #expect(BatonSpecTests.read(job(9_986)).problems == [])
    #expect(BatonSpecTests.read(job(9_987)).hasErrors)
  }

  @Test("a definition that would be larger than 64 KiB as JSON is refused")
  func largeDefinition() {
    let job = { (count: Int) in
      let items = repeatElement("abcdef", count: count).joined(separator: ",")
      return self.head + "work: {command: [/bin/true], items: {list: [\(items)]}}\n"
    }
    #expect(BatonSpecTests.read(job(7_000)).problems == [])
    #expect(
      BatonSpecTests.read(job(8_000)).problems.map { $0.message.prefix(42) } == [
        "the definition is larger than 64 KiB; put "
      ])
  }

  @Test("a file with many %TAG lines is refused before it is read")
  func manyTags() {
    let tags = (0..<17).map { "%TAG !a\($0)! b\n" }.joined()
    let problems = BatonSpecTests.read(tags + "---\n" + head).problems
    #expect(problems.map(\.message) == ["the file has more than 16 lines with %TAG; a job file needs none"])
    #expect(problems.first?.position == Position(line: 17, column: 1))
  }

  @Test("a problem on a very long line is told without the line")
  func longLine() {
    let text = "{identifier: a.b, kind: refresh, no: 1}" + String(repeating: " ", count: 20_000)
    let problems = BatonSpecTests.read(text).problems
    #expect(problems.count == 1 && problems[0].excerpt == nil)
  }

  @Test("of more definitions than are wanted one is read, and the rest is not")
  func manyDefinitions() {
    let text = (0..<100).map { "---\nidentifier: a.j\($0)\nkind: processing\n" }.joined()
    let options = SpecificationOptions(now: Corpus.now, mostDefinitions: 3)
    #expect(Specification(parsing: Source(name: "job.yaml", text: text), options: options).definitions.count == 4)
  }

  @Test("a thousand errors are enough")
  func manyErrors() {
    let specification = BatonSpecTests.read(String(repeating: "--- [\n", count: 100_000))
    #expect(specification.problems.count == 1_001)
    #expect(
      specification.problems.last?.message == "there are 1,000 errors; further ones in this file are not reported")
  }

  @Test("a thousand warnings hide no definition and no error")
  func manyWarnings() {
    let warned = (0..<1_200).map { "identifier: a.j\($0)\nkind: processing\nearliestBeginDate: 8d\n---\n" }.joined()
    let specification = BatonSpecTests.read(warned + "identifier: a.last\nkind: none\n")
    #expect(specification.definitions.count == 1_200)
    #expect(specification.warnings.count == 1_001)
    #expect(specification.errors.map(\.position) == [Position(line: 4_802, column: 7)])
  }

  private static let wideTexts = [
    String(repeating: "---\n", count: 500_000), String(repeating: "a: b\n---\n", count: 230_000),
    "a: [" + String(repeating: "[", count: 62) + String(repeating: "b,", count: 1_000_000),
    "\"" + String(repeating: "x\n", count: 1_000_000),
    "&a a: " + String(repeating: "x ", count: 1_000_000),
  ]

  @Test("wide shallow files of 2 MiB are read in time", arguments: wideTexts.indices)
  func wide(number: Int) {
    #expect(BatonSpecTests.read(Self.wideTexts[number]).hasErrors)
  }

  @Test("a thousand random slips never crash it", arguments: 0..<20)
  func random(seed: Int) throws {
    var generator = Generator(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1)
    let sources = try Corpus.good.flatMap { try Corpus.sources($0, in: "good") }
    let alphabet = Array("[]{}:,-?*&!|>'\"%@`#\n \t0aé\0~<.$".utf8)
    for _ in 0..<50 {
      var bytes = sources.randomElement(using: &generator)?.bytes ?? []
      for _ in 0..<Int.random(in: 1...5, using: &generator) {
        let index = Int.random(in: bytes.indices, using: &generator)
        bytes[index] = alphabet.randomElement(using: &generator) ?? 0
      }
      let specification = read(bytes: bytes)
      #expect(specification.problems.allSatisfy { $0.position >= .start })
    }
  }
}

/// A random number generator (xorshift) that draws the same slips for the same seed.
private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
