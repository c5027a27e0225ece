import BatonModel
import ContractRows
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
    var pages: [ItemExpansion.Page] = []
    repeat { pages.append(try expansion.nextPage()) } while pages.map(\.items.count).reduce(0, +) < texts.count
    #expect(pages.map(\.items.count) == [3, 1000, 202])
    #expect(pages.map(\.isLast) == [false, false, true])
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

  /// None of these is opened: a named pipe would wait for a writer, and opening a device may have any effect.
  @Test(.refuses(28), arguments: ["a named pipe", "a socket", "a folder", "a device"])
  func `what is no regular file is refused, and the message says what it is`(kind: String) throws {
    let path = fixture.root + "/work/list"
    switch kind {
    case "a named pipe": #expect(mkfifo(path, 0o600) == 0)
    case "a socket": #expect(try bound(to: path))
    case "a folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    default: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
    }
    let error = #expect(throws: CommandError.self) {
      try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    }
    #expect(error?.code == .badItems)
    #expect(error?.message.contains("\(fixture.directory)/list is \(kind)") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("regular file") == true)
  }

  private func bound(to path: String) throws -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }

  @Test func `a link of this user to a file is followed, through folders and other links`() throws {
    try fixture.write("a\nb\n", to: "lists/today")
    try fixture.write("", to: "links/x")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: fixture.root + "/work/links/latest", withDestinationPath: "../lists/today")
    try files.createSymbolicLink(atPath: fixture.root + "/work/list", withDestinationPath: "links/latest")
    var listing = try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    #expect(try listing.next() == "a")
    try files.createSymbolicLink(atPath: fixture.root + "/work/circle", withDestinationPath: "circle")
    #expect(throws: CommandError.self) {
      try LineListing(file: "circle", directory: fixture.directory, host: HostName("box"))
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can make a file another user's"))
  func `a link of another user is not followed`() throws {
    try fixture.write("secret\n", to: "token")
    let link = fixture.root + "/work/list"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "token")
    #expect(lchown(link, 65534, 65534) == 0)
    let error = #expect(throws: CommandError.self) {
      try LineListing(file: "list", directory: fixture.directory, host: HostName("box"))
    }
    #expect(error?.message.contains("a symbolic link of another user") == true)
  }

  /// Blocks as a file system does that no longer answers.
  private struct StuckListing: ItemListing {
    let began: DispatchSemaphore
    let end: DispatchSemaphore
    mutating func next() throws -> String? {
      began.signal()
      end.wait()
      return nil
    }
  }

  @Test(.refuses(28)) func `a launch that expires while its items are listed waits for no file system`() async throws {
    let (began, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    defer { end.signal() }
    let expansion = ItemExpansion(StuckListing(began: began, end: end))
    let listing = Task { try await expansion.freeze(FakeRuntime()) }
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "test").async {
        began.wait()
        continuation.resume()
      }
    }
    listing.cancel()
    await #expect(throws: CancellationError.self) { try await listing.value }
  }

  @Test func `a walk that finds nothing ends with its launch`() throws {
    try fixture.write("", to: "a/b/c")
    var listing = try GlobListing(
      pattern: "**/nothing", directory: fixture.directory, host: HostName("box"), pass: .arguments
    ) { true }
    #expect(throws: CancellationError.self) { try listing.next() }
  }

  @Test(.refuses(28)) func `a named pipe as lines fails the launch, and holds nothing up`() async throws {
    #expect(mkfifo(fixture.root + "/work/list", 0o600) == 0)
    let error = try await fixture.failure(fixture.shell("true", items: .lines("list")))
    #expect(error.code == .badItems && error.message.contains("a named pipe"))
  }
}
