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
}
