import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cores have no clock, no chance and no waiting in them, or the same seed would not be the same fleet.
@Suite struct PurityTests {
  static let folders = [
    "Sources/BatonCoordinator/Dispatcher", "Sources/BatonWorker/Core", "Sources/BatonStore/Verbs",
    "Sources/BatonModel", "Sources/BatonSimulation",
  ]
  static let forbidden = [
    "Date()", "Date.now", "ContinuousClock", "SuspendingClock", "Task.sleep", "Task {", "async ", "await ", ".random(",
    ".randomElement(", ".shuffled()", ".shuffle()", "SystemRandomNumberGenerator", "UUID()", "clock_gettime", "usleep",
    "randomblob", "strftime('now'", "hashValue",
  ]
  /// Runs campaigns on threads; what is simulated knows nothing of it.
  static let exceptions = ["Campaign.swift"]

  @Test("nothing in the cores reads a clock, draws at random or waits", arguments: folders)
  func purity(folder: String) throws {
    let files = try Self.files(in: folder)
    #expect(!files.isEmpty)
    for (name, text) in files where !Self.exceptions.contains(name) {
      for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        let found = Self.forbidden.filter { line.contains($0) }
        #expect(found.isEmpty, "\(folder)/\(name): \(line)")
      }
    }
  }

  /// Where an order is made of a set or a dictionary, it is sorted in the same statement.
  @Test("effects come in an order that does not depend on hashing", arguments: folders.prefix(2))
  func order(folder: String) throws {
    for (name, text) in try Self.files(in: folder) {
      for statement in text.split(separator: "\n").map(String.init) where statement.contains(".keys") {
        let isLoop = statement.contains("for ") || statement.contains("flatMap") || statement.contains("compactMap")
        let isOrdered = statement.contains("sorted") || statement.contains(" = ") || Self.unordered.contains(name)
        #expect(!isLoop || isOrdered, "\(folder)/\(name): \(statement)")
      }
    }
  }

  /// Files that go through keys and make no effect of their order.
  static let unordered = ["Dispatcher+Leases.swift", "Dispatcher+Operators.swift", "Dispatcher+Waits.swift"]

  private static func files(in folder: String) throws -> [(name: String, text: String)] {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appendingPathComponent(folder).path
    let names = try FileManager.default.subpathsOfDirectory(atPath: path)
    return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
      let text = try String(contentsOfFile: path + "/" + name, encoding: .utf8)
      return (name.split(separator: "/").last.map(String.init) ?? name, text)
    }
  }
}
