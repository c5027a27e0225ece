import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// A folder of secrets of a host.
struct SecretFixture {
  static let password = "correct horse battery staple"
  /// The password by descriptor, and by variable.
  static let descriptor = ["DB_PASSWORD": Secret(file: "db/password")]
  static let variable = ["DB_PASSWORD": Secret(file: "db/password", form: .environment)]

  let commands: CommandFixture
  var folder: String { commands.confinement.secrets.path }

  /// - Parameter level: the sandbox of commands. The folder is hidden from them.
  init(level: SandboxLevel? = nil, credentials: Bool = false) throws {
    commands = try CommandFixture { root in
      let secrets = SecretFolder(path: root + "/secrets", credentials: credentials ? root + "/credentials" : nil)
      return CommandConfinement(
        helper: Fence.besideThisProgram, level: level, hidden: [secrets.path, root + "/data"], secrets: secrets)
    }
    for folder in [folder, commands.confinement.secrets.credentials].compactMap(\.self) {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
    }
  }

  func write(_ text: String, to file: String, mode: Int = 0o400, in other: String? = nil) throws {
    let path = (other ?? folder) + "/" + file
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  func work(_ script: String, _ secrets: [String: Secret], items: Items? = .range(1...1)) -> Work {
    var work = commands.shell(script, items: items)
    work.secrets = secrets
    return work
  }

  /// What the command has written into a file in its working directory.
  func result(_ name: String) throws -> String { try commands.read(name) }
}
