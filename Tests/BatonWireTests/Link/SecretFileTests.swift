import Foundation
import Testing

@testable import BatonWire

@Suite struct SecretFileTests {
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  @Test func `a secret is made once, for its owner only, and is the same from then on`() throws {
    try withFolder { folder in
      let path = folder + "/secret"
      #expect(try SecretFile.read(path) == nil)
      let (secret, isNew) = try SecretFile.own(path)
      #expect(isNew && secret.count == 32)
      let again = try SecretFile.own(path)
      #expect(again.secret == secret && !again.isNew)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["secret"])
      #expect(try SecretFile.own(folder + "/other").secret != secret)
    }
  }

  @Test(arguments: ["", "\n", "abc", String(repeating: "0", count: 63), String(repeating: "g", count: 64)])
  func `what is no secret is not replaced`(text: String) throws {
    try withFolder { folder in
      let path = folder + "/secret"
      try Data(text.utf8).write(to: URL(filePath: path))
      let error = #expect(throws: SecretFileError.self) { try SecretFile.own(path) }
      #expect(error?.description.hasPrefix(path) == true)
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(text.utf8))
    }
  }

  @Test func `a symbolic link is not followed`() throws {
    try withFolder { folder in
      let secret = try SecretFile.own(folder + "/real").secret
      #expect(secret.count == 32)
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/real")
      #expect(throws: SecretFileError.self) { try SecretFile.own(folder + "/link") }
    }
  }
}
