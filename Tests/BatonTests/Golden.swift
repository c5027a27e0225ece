import Foundation
import Testing

/// Texts in `Golden/`. After one was changed on purpose, `BATON_RECORD=1 swift test --filter BatonTests` writes them
/// anew; read the difference before you commit it.
enum Golden {
  private static let isRecording = ProcessInfo.processInfo.environment["BATON_RECORD"] == "1"
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().path + "/Golden"

  static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let path = "\(folder)/\(name).txt"
    if isRecording { return try Data(text.utf8).write(to: URL(filePath: path)) }
    let expected = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    #expect(text == expected, "differs from Golden/\(name).txt", sourceLocation: sourceLocation)
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
