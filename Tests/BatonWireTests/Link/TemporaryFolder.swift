import Foundation

/// A folder of mode 0700 that exists while a test runs.
enum TemporaryFolder {
  static func with<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "baton-wire-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
  }

  static func write(_ text: String, to path: String, mode: Int = 0o600) throws {
    _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: nil)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }
}
