import Foundation
import Testing

/// The expected texts in `Golden/`. After a text was changed on purpose,
/// `BATON_RECORD=1 swift test --filter BatonTests` writes them again; read the difference before you commit it.
enum Golden {
  private static let isRecording = ProcessInfo.processInfo.environment["BATON_RECORD"] == "1"
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
  private static let folder = tests.path + "/Golden"
  /// The root folder of the repository.
  static let root = tests.deletingLastPathComponent().deletingLastPathComponent().path

  static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try expect(text, at: "\(folder)/\(name).txt", sourceLocation: sourceLocation)
  }

  /// Compares, or records, the text of a file in the repository that is generated from the code.
  static func expect(_ text: String, at path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    if isRecording { return try Data(text.utf8).write(to: URL(filePath: path)) }
    let expected = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    #expect(text == expected, "differs from \(path)", sourceLocation: sourceLocation)
  }
}

/// Calls `body` with a new folder, which is removed afterwards.
func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "baton-tests-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
