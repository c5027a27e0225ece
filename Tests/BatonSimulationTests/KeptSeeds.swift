#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Seeds that found something once, in `kept-seeds.txt`: one a line, and after a space what they found.
enum KeptSeeds {
  static func all() throws -> [UInt64] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let text = try String(contentsOf: folder.appendingPathComponent("kept-seeds.txt"), encoding: .utf8)
    return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: " ").first.flatMap { UInt64($0) } }
  }
}
