import Foundation
import Testing

/// Texts in `Golden/`. After one was changed on purpose, `BATON_RECORD=1 swift test --filter BatonTests` writes them
/// anew; read the difference before you commit it.
enum Golden {
  private static let isRecording = ProcessInfo.processInfo.environment["BATON_RECORD"] == "1"
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
  private static let folder = tests.path + "/Golden"
  /// Of the repository.
  static let root = tests.deletingLastPathComponent().deletingLastPathComponent().path

  static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try expect(text, at: "\(folder)/\(name).txt", sourceLocation: sourceLocation)
  }

  /// The same for a file of the repository that is made of the code.
  static func expect(_ text: String, at path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    if isRecording { return try Data(text.utf8).write(to: URL(filePath: path)) }
    let expected = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    #expect(text == expected, "differs from \(path)", sourceLocation: sourceLocation)
  }
}

/// A folder of its own, removed at the end.
func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "baton-tests-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
