import Foundation
import Testing

@testable import BatonSpec

/// Kinds of mistakes that a schema of draft-07 cannot find. The first line of every bad file says `# schema: rejects`
/// or names one of these kinds. No other file may be refused by the decoder and accepted by the schema.
enum BlindSpot: String, CaseIterable {
  /// The mistake disappears when the document becomes JSON: syntax, duplicate keys, tags, aliases and merge keys, keys
  /// that are not text, limits of size and depth, files without a document.
  case document
  /// The mistake is between documents or files: an identifier declared twice, wildcards that overlap.
  case between
  /// How a number or a boolean is written: `010`, `1e3`, `2.0` and `True` are numbers and booleans of YAML 1.2, `no`
  /// and `12:30` in a command or a list are text to it.
  case spelling
  /// The mistake has to be computed: sums of durations, sizes and ranges, the length of a month.
  case arithmetic
}

@Suite("Config/job.schema.json and the decoder agree")
struct SchemaTests {
  static let repository = Corpus.folder(of: Corpus.folder(of: Corpus.root))
  static let schemaText = (try? Data(contentsOf: URL(filePath: "\(repository)/Config/job.schema.json"))) ?? Data()

  private var validator: SchemaValidator {
    get throws { SchemaValidator(root: try JSONDecoder().decode(JSON.self, from: Self.schemaText)) }
  }

  @Test("good files are accepted by both", arguments: Corpus.good)
  func acceptsGoodFiles(name: String) throws {
    for source in try Corpus.sources(name, in: "good") {
      for document in try JSON.documents(of: source.bytes) {
        try Self.export(document, accepted: true)
        #expect(try validator.accepts(document))
      }
    }
  }

  @Test("bad files are refused by both, except in the blind spots", arguments: Corpus.bad)
  func rejectsBadFiles(name: String) throws {
    for source in try Corpus.sources(name, in: "bad") {
      let marked = try #require(verdict(on: source), "the first line says what the schema does")
      switch marked {
      case .blind(.document): continue
      case .blind(.between), .blind(.spelling), .blind(.arithmetic): try expect(source, accepted: true)
      case .rejects: try expect(source, accepted: false)
      }
    }
  }

  private func expect(_ source: Source, accepted: Bool) throws {
    let documents = try JSON.documents(of: source.bytes)
    let validator = try validator
    for document in documents { try Self.export(document, accepted: validator.accepts(document)) }
    #expect(try documents.allSatisfy(validator.accepts) == accepted)
  }

  @Test("every blind spot has a file that shows it", arguments: BlindSpot.allCases)
  func shows(spot: BlindSpot) throws {
    let files = try Corpus.bad.flatMap { try Corpus.sources($0, in: "bad") }
    #expect(files.contains { verdict(on: $0) == .blind(spot) })
  }

  private enum Verdict: Equatable {
    case rejects
    case blind(BlindSpot)
  }

  /// What the first line of a bad file says about the schema; `nil` if it says nothing known.
  private func verdict(on source: Source) -> Verdict? {
    let line = String(decoding: source.bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    guard let match = line.firstMatch(of: /# schema: (rejects|blind: (?<spot>[a-z]+))$/) else { return nil }
    guard let spot = match.spot else { return .rejects }
    return BlindSpot(rawValue: String(spot)).map(Verdict.blind)
  }

  @Test("every key of the decoder is described for editors, and there is no other")
  func describesEveryKey() throws {
    let schema = try JSONDecoder().decode(JSON.self, from: Self.schemaText)
    #expect(schema.keysByPath == Set(Level.allCases.flatMap { level in level.keys.map(level.path(of:)) }))
    #expect(schema.undescribed == [])
  }

  @Test("the text that `baton schema` prints is the file")
  func isEmbedded() throws {
    let text = String(decoding: Self.schemaText, as: UTF8.self)
    if Corpus.isRecording { try Self.embed(text) }
    #expect(JobSchema.text == text)
  }

  private static func embed(_ text: String) throws {
    let swift = """
      // Written by BatonSpecTests from Config/job.schema.json (BATON_RECORD=1); a test holds the two together.

      /// The JSON Schema (draft-07) of a job, for editors and `baton schema`.
      package enum JobSchema {
        /// The text of `Config/job.schema.json`.
        package static let text = #\"\"\"

      """
    let lines = text.split(separator: "\n").map { "    \($0)\n" }.joined()
    let path = "\(repository)/Sources/BatonSpec/JobSchema.swift"
    try Data((swift + lines + "\n    \"\"\"#\n}\n").utf8).write(to: URL(filePath: path))
  }

  /// `BATON_SCHEMA_CASES=FILE` appends each case and its verdict as a line of JSON, to ask another validator.
  private static func export(_ document: JSON, accepted: Bool) throws {
    guard let path = ProcessInfo.processInfo.environment["BATON_SCHEMA_CASES"] else { return }
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("{\"accepted\":\(accepted),\"document\":\(document.encoded)}\n".utf8))
  }
}
