import Foundation
import Testing

@Suite("Documentation/how-to/testing.md shows what is compiled and run", .timeLimit(.minutes(10)))
struct DocumentationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Returns the Swift code blocks of the page, in order.
  private static func samples() throws -> [String] {
    let parts = try text("Documentation/how-to/testing.md").components(separatedBy: "```")
    return parts.enumerated().filter { $0.offset % 2 == 1 && $0.element.hasPrefix("swift\n") }
      .map { String($0.element.dropFirst("swift\n".count)) }
  }

  @Test("every sample of the page is in Examples/TestKit, word for word")
  func samplesAreCompiled() throws {
    let folder = Self.root.appending(path: "Examples/TestKit").path
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
    let sources = try files.map { try Self.text("Examples/TestKit/\($0)") }
    let samples = try Self.samples()
    #expect(samples.count >= 6)
    for sample in samples {
      #expect(sources.contains { $0.contains(sample) }, "not in Examples/TestKit:\n\(sample)")
    }
  }

  @Test("the first test that the page shows is eight lines long")
  func isShort() throws {
    let first = try #require(try Self.samples().first)
    #expect(first.split(separator: "\n").count <= 8)
  }
}
