import Foundation

/// A folder that exists while a test runs.
enum TemporaryFolder {
  static func with<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "baton-store-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
  }
}
