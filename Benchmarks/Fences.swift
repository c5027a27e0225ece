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
      let processes = ProcessRegistry(folders: try WorkerFolders(data: folder + "/data"), helper: helper)
      let (fenced, bare) = try await options.medians {
        (try await time(fence, in: processes, options), try await time(nil, in: processes, options))
      }
      results.append(
        Measurement(
          "B11 a short command in '\(level.rawValue)', against the command alone", value: fenced, unit: "ms",
          limit: bare, target: 10, isAtMost: true))
    }
    return results
  }

  /// The mean time of one run, in milliseconds.
  private static func time(_ fence: Fence?, in processes: ProcessRegistry, _ options: Options) async throws -> Double {
    let runs = options.isSmall ? 50 : 300
    let start = SystemClocks.instant()
    let launch = ProcessLaunch(
      executable: "/bin/true", arguments: ["true"], environment: [:], directory: "/", fence: fence)
    for _ in 0..<runs {
      let outcome = try await launch.run(in: processes, folder: fence?.kept ?? "/") { _ in }
      guard outcome.end.isSuccess else { throw BenchmarkFailure("/bin/true did not run") }
    }
    return (SystemClocks.instant() - start).inSeconds * 1000 / Double(runs)
  }

  private struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}
