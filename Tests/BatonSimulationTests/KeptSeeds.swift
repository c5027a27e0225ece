#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Seeds that once found a bug or that catch a planted bug early, from `kept-seeds.txt`. Each line has a seed, a space,
/// and what the seed found.
enum KeptSeeds {
  static func all() throws -> [UInt64] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let text = try String(contentsOf: folder.appendingPathComponent("kept-seeds.txt"), encoding: .utf8)
    return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: " ").first.flatMap { UInt64($0) } }
  }
}
