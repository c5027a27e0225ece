import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite("The folder of secrets") struct SecretFolderTests {
  private func text(_ fixture: SecretFixture, _ file: String) throws -> String {
    String(decoding: try fixture.commands.confinement.secrets.read(file), as: UTF8.self)
  }

  private func problem(_ fixture: SecretFixture, _ file: String) throws -> String {
    let error = try #require(throws: SystemError.self) { try fixture.commands.confinement.secrets.read(file) }
    #expect(!"\(error)".contains(SecretFixture.password))
    return "\(error)"
  }

  @Test(
    "a secret is the content of its file without one line feed at the end",
    arguments: [("secret", "secret"), ("secret\n", "secret"), ("secret\n\n", "secret\n"), (" a\nb ", " a\nb ")])
  func content(content: String, secret: String) throws {
    let fixture = try SecretFixture()
    try fixture.write(content, to: "db/deep/password")
    #expect(try text(fixture, "db/deep/password") == secret)
  }

  @Test("a secret has at most 64 KiB, and at least one byte")
  func sizes() throws {
    let fixture = try SecretFixture()
    let longest = String(repeating: "x", count: SecretFolder.maximumBytes)
    try fixture.write(longest + "\n", to: "longest")
    #expect(try text(fixture, "longest") == longest)
    try fixture.write(longest + "x", to: "longer")
    #expect(try problem(fixture, "longer").contains("more than 64 KiB"))
    for empty in ["", "\n"] {
      try fixture.write(empty, to: "empty")
      #expect(try problem(fixture, "empty").contains("is empty"))
      try FileManager.default.removeItem(atPath: fixture.folder + "/empty")
    }
  }

  @Test("a file that other users may open is refused", arguments: [0o440, 0o404, 0o660, 0o644, 0o602, 0o410])
  func modes(mode: Int) throws {
    let fixture = try SecretFixture()
    try fixture.write(SecretFixture.password, to: "password", mode: mode)
    #expect(try problem(fixture, "password").contains("chmod 0400 \(fixture.folder)/password"))
  }

  @Test("a folder into which other users may write is refused", arguments: ["", "/db"])
  func folders(name: String) throws {
    let fixture = try SecretFixture()
    try fixture.write(SecretFixture.password, to: "db/password")
    try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: fixture.folder + name)
    #expect(try problem(fixture, "db/password").contains("is writable by"))
  }

  @Test("no symbolic link is followed, not for the file and not for a folder")
  func links() throws {
    let fixture = try SecretFixture()
    try fixture.write(SecretFixture.password, to: "db/password")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: fixture.folder + "/link", withDestinationPath: "db/password")
    try files.createSymbolicLink(atPath: fixture.folder + "/folder", withDestinationPath: "db")
    #expect(try problem(fixture, "link").contains("symbolic link"))
    #expect(try problem(fixture, "folder/password").contains("symbolic link"))
  }

  @Test("only a regular file is read, and a pipe does not hold the worker up")
  func kinds() throws {
    let fixture = try SecretFixture()
    try #require(mkfifo(fixture.folder + "/pipe", 0o600) == 0)
    #expect(try problem(fixture, "pipe").contains("no regular file"))
    try FileManager.default.createDirectory(
      atPath: fixture.folder + "/folder", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    #expect(try problem(fixture, "folder").contains("no regular file"))
  }

  @Test("a file of another user is refused", .enabled(if: geteuid() == 0, "only root can make a file another user's"))
  func owner() throws {
    let fixture = try SecretFixture()
    try fixture.write(SecretFixture.password, to: "db/password")
    try #require(chown(fixture.folder + "/db/password", 65534, 65534) == 0)
    #expect(try problem(fixture, "db/password").contains("belongs to another user"))
    try #require(chown(fixture.folder + "/db/password", 0, 0) == 0)
    try #require(chown(fixture.folder + "/db", 65534, 65534) == 0)
    #expect(try problem(fixture, "db/password").contains("a folder of"))
  }

  @Test("a credential of systemd, with '-' for each '/', takes precedence, and may be readable by its group")
  func credentials() throws {
    let fixture = try SecretFixture(credentials: true)
    let folder = try #require(fixture.commands.confinement.secrets.credentials)
    try fixture.write("of the folder", to: "db/password")
    #expect(try text(fixture, "db/password") == "of the folder")
    // With an access control list for the service's user, stat(2) shows the list's mask as the group's permissions.
    try fixture.write("of systemd", to: "db-password", mode: 0o440, in: folder)
    #expect(try text(fixture, "db/password") == "of systemd")
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder + "/db-password")
    #expect(try problem(fixture, "db/password").contains("chmod"), "a credential that is not safe hides the file")
  }

  @Test("a secret that is nowhere is told with both places")
  func missing() throws {
    let fixture = try SecretFixture(credentials: true)
    let said = try problem(fixture, "db/password")
    #expect(said.contains("\(fixture.folder)/db/password") && said.contains("/credentials/db-password"))
  }
}
