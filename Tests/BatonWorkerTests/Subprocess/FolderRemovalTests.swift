import Foundation
import Testing

@testable import BatonProcess

/// Folders of commands are removed with everything in them, and with no more work than that takes.
@Suite struct FolderRemovalTests {
  private let root = NSTemporaryDirectory() + "baton-removal-\(UUID().uuidString.prefix(8))"

  @Test(arguments: [(0, 1), (1, 1), (64, 1), (65, 2), (200, 4)])
  func `a folder is emptied in one round, and one that is very deep in some more`(depth: Int, rounds: Int) throws {
    let path = root + String(repeating: "/d", count: depth)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/file"))
    let folder = try OpenFolder(at: root)
    #expect(FolderRemoval.empty(folder.descriptor) == rounds)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
  }

  @Test func `names that are not UTF-8 are removed too`() throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let folder = try OpenFolder(at: root)
    // Two names in Latin-1: of files, and of a folder.
    let (file, below) = ([CChar(truncatingIfNeeded: 0xE4), 0], [CChar(truncatingIfNeeded: 0xF6), 0])
    #expect(mkdirat(folder.descriptor, below, 0o700) == 0)
    let inner = openat(folder.descriptor, below, O_RDONLY | O_DIRECTORY)
    for place in [folder.descriptor, inner] { close(openat(place, file, O_WRONLY | O_CREAT, 0o600)) }
    close(inner)
    FolderRemoval.empty(folder.descriptor)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
  }
}
