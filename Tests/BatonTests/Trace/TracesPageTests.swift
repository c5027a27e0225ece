import Foundation
import Testing

/// Documentation/how-to/traces.md agrees with the code.
@Suite struct TracesPageTests {
  private static let page = try? String(
    contentsOfFile: Golden.root + "/Documentation/how-to/traces.md", encoding: .utf8)

  @Test func `its example is what the command prints`() throws {
    #expect(
      try #require(Self.page).contains(
        "```\n$ baton trace com.example.report\n\(TraceTextTests.text(TraceSample.slow))```\n"))
  }

  @Test func `it has every attribute and event that a span may have`() throws {
    let source = try String(contentsOfFile: Golden.root + "/Sources/BatonTelemetry/Names/Names.swift", encoding: .utf8)
    let names = source.matches(of: #/static let \w+ = "((?:baton|error|exception)\.[a-z._]+)"/#).map {
      String($0.output.1)
    }
    let page = try #require(Self.page)
    #expect(names.count > 20)
    #expect(names.filter { !page.contains("`\($0)`") }.isEmpty)
  }
}
