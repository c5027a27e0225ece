import BatonWire
import ContractRows
import Foundation
import Testing

@Suite struct TokenFileTests {
  private static let token = String(repeating: "0123456789abcdef", count: 4)

  @Test func `a token is drawn once, and the file is its user's alone`() throws {
    try TemporaryFolder.with { folder in
      let token = try TokenFile.own(dataFolder: folder)
      #expect(token.count == 64)
      #expect(try TokenFile.own(dataFolder: folder) == token)
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/token")
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["token"])
    }
  }

  @Test func `a token is on the disk before it has a name, and its name before anybody gets it`() throws {
    try TemporaryFolder.with { folder in
      var synced: [String] = []
      _ = try TokenFile.own(dataFolder: folder) { file in
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")) ?? "?"
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path)))?.count
        let isNamed = FileManager.default.fileExists(atPath: folder + "/token")
        synced.append("\(path.dropFirst(folder.count)) \(bytes.map { "\($0) bytes" } ?? "folder") named \(isNamed)")
        return 0
      }
      #expect(synced == ["/token.part 65 bytes named false", " folder named true"])
    }
  }

  @Test func `a token that cannot be made durable is an error, and leaves no token behind`() throws {
    try TemporaryFolder.with { folder in
      let error = #expect(throws: TokenFileError.self) {
        try TokenFile.own(dataFolder: folder) { _ in
          errno = EIO
          return -1
        }
      }
      #expect(error?.code == .cannotWrite)
      #expect(error?.description.contains("\(folder)/token: Input/output error") == true)
      let left = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(left.isEmpty)
    }
  }

  @Test(arguments: [
    ("", "is empty"), ("\n \n", "is empty"), ("a", "has 1 characters"), (String(token.prefix(31)), "has 31 characters"),
    (String(repeating: "a", count: 1025), "does not contain a token"),
    (String(repeating: "ä", count: 40), "does not contain a token"),
  ])
  func `a file without a token is an error that says what to do, and no other token is drawn`(
    text: String, problem: String
  ) throws {
    try TemporaryFolder.with { folder in
      try TemporaryFolder.write(text, to: folder + "/token")
      let error = #expect(throws: TokenFileError.self) { try TokenFile.own(dataFolder: folder) }
      #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
      #expect(error?.code == .refused)
      #expect(error?.description.contains("remove the file") == true)
      #expect(try String(contentsOfFile: folder + "/token", encoding: .utf8) == text)
      let named = #expect(throws: TokenFileError.self) { try TokenFile.read(folder + "/token", port: 1) }
      #expect(named?.description.contains("mode 0600") == true)
    }
  }

  @Test(.refuses(22), arguments: [0o644, 0o640, 0o604, 0o666, 0o620, 0o601])
  func `a token that others can reach is refused with the command that mends it`(mode: Int) throws {
    try TemporaryFolder.with { folder in
      let path = folder + "/token"
      try TemporaryFolder.write(Self.token + "\n", to: path, mode: mode)
      for read in [{ try TokenFile.own(dataFolder: folder) }, { try TokenFile.read(path, port: 1) ?? "" }] {
        let error = #expect(throws: TokenFileError.self) { try read() }
        #expect(error?.code == .refused)
        #expect(error?.description.contains("chmod 600 \(path)") == true)
        #expect(error?.description.contains(String(mode, radix: 8)) == true)
      }
    }
  }

  @Test func `a worker draws its metrics token once, and keeps it to itself`() throws {
    try TemporaryFolder.with { folder in
      let token = try TokenFile.ownForMetrics(dataFolder: folder)
      #expect(try token.utf8.count == 64 && token != TokenFile.own(dataFolder: folder))
      #expect(try TokenFile.ownForMetrics(dataFolder: folder) == token)
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/metrics-token")
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      try TemporaryFolder.write(token, to: folder + "/metrics-token", mode: 0o644)
      #expect(throws: TokenFileError.self) { try TokenFile.ownForMetrics(dataFolder: folder) }
    }
  }

  @Test func `a named file that is not there is an error; a published one is not`() throws {
    try TemporaryFolder.with { folder in
      let error = #expect(throws: TokenFileError.self) { try TokenFile.read(folder + "/none", port: 1) }
      #expect(error?.description.contains("BATON_TOKEN_FILE") == true)
      let published = try TokenFile.read(nil, port: 1, in: RuntimeFolders(paths: [folder]))
      #expect(published == nil)
    }
  }

  @Test func `what is published is found in the first folder that has it, and withdrawn by its own coordinator only`()
    throws
  {
    try TemporaryFolder.with { folder in
      let folders = RuntimeFolders(paths: [folder + "/none", folder])
      try TokenFile.publish(Self.token, port: 7, in: folder)
      #expect(try TokenFile.read(nil, port: 7, in: folders) == Self.token)
      #expect(try TokenFile.read(nil, port: 8, in: folders) == nil)
      TokenFile.withdraw(String(Self.token.reversed()), port: 7, from: folder)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["7.token"])
      TokenFile.withdraw(Self.token, port: 7, from: folder)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }
}
