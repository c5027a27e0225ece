import BatonBase
import BatonModel
import BatonProcess
import Foundation

/// B11: the time that a short command takes in each level of the sandbox, against the same command without it.
enum Fences {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let folder = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString)"
    let launch = folder + "/data/launches/1-1"
    try FileManager.default.createDirectory(atPath: launch + "/tmp", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    guard let helper = Fence.besideThisProgram else { return [] }
    let available = await SandboxProbe.look(helper: helper, required: nil).available
    var results: [Measurement] = []
    for level in SandboxLevel.allCases where available.map({ level <= $0 }) ?? false {
      let fence = Fence(
        helper: helper, level: level, hidden: [folder + "/data"], kept: launch, separatesNetwork: true)
      let words = fence.arguments(running: "/bin/true", ["true"], report: FenceReport())
      let (fenced, bare) = try await options.medians {
        (try await time([helper] + words.dropFirst(), options), try await time(["/bin/true"], options))
      }
      results.append(
        Measurement(
          "B11 a short command in '\(level.rawValue)', against the command alone", value: fenced, unit: "ms",
          limit: bare, target: 10, isAtMost: true))
    }
    return results
  }

  /// The mean time of one run, in milliseconds.
  private static func time(_ words: [String], _ options: Options) async throws -> Double {
    let runs = options.isSmall ? 50 : 300
    let start = SystemClocks.instant()
    for _ in 0..<runs {
      guard case .output = await SystemCommand.system.run(words, .seconds(10)) else {
        throw BenchmarkFailure("\(words[0]) did not run")
      }
    }
    return (SystemClocks.instant() - start).inSeconds * 1000 / Double(runs)
  }

  private struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}
