import BatonModel
import Foundation
import Testing

@testable import BatonWorker

@Suite struct LineTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func lines(_ text: String) throws -> [String] {
    try fixture.write(text, to: "list")
    var listing = try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    var items: [String] = []
    while let item = try listing.next() { items.append(item) }
    return items
  }

  @Test(arguments: [
    ("a\nb\n", ["a", "b"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("\n\na\n\n", ["a"]), ("", []),
    (" a b \n\tü\n", [" a b ", "\tü"]),
  ])
  func `each line is an item, empty ones are not`(text: String, expected: [String]) throws {
    #expect(try lines(text) == expected)
  }

  @Test func `a file larger than what is read at once comes out whole`() throws {
    let expected = (0..<50_000).map { "item number \($0)" }
    #expect(try lines(expected.joined(separator: "\n")) == expected)
  }

  @Test func `a page is bounded in items and in bytes`() throws {
    let long = String(repeating: "x", count: 100_000)
    let texts = Array(repeating: long, count: 5) + (0..<1200).map(String.init)
    try fixture.write(texts.joined(separator: "\n"), to: "list")
    let listing = try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    let expansion = ItemExpansion(listing)
    var counts: [Int] = []
    repeat { counts.append(try expansion.nextPage().items.count) } while counts.reduce(0, +) < texts.count
    #expect(counts == [3, 1000, 202])
  }

  @Test func `a page ends with the last item that is there`() throws {
    try fixture.write((0..<1000).map(String.init).joined(separator: "\n"), to: "list")
    let listing = try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    #expect(try ItemExpansion(listing).nextPage().isLast)
  }

  @Test func `a file that is not there says where it was looked for`() async throws {
    let error = try await fixture.failure(fixture.shell("true", items: .lines("no-list")))
    #expect(error.code == .badItems)
    #expect(error.message.contains("\(fixture.directory)/no-list: No such file or directory"))
  }

  @Test func `a line that is no text, or too long, is named`() throws {
    try Data([0x61, 0x0A, 0xFF, 0xFE, 0x0A]).write(to: URL(fileURLWithPath: fixture.root + "/work/bad"))
    var listing = try LineListing(file: "bad", directory: fixture.directory, host: HostName("box"))
    #expect(try listing.next() == "a")
    let error = try #require(throws: CommandError.self) { try listing.next() }
    #expect(error.message.contains("line 2 of \(fixture.directory)/bad"))
    #expect(throws: CommandError.self) { try lines(String(repeating: "x", count: 200_000)) }
  }
}
