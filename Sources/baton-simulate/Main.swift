import BatonBase
import BatonSimulation

/// The simulator's program. `baton-simulate SEEDS [FIRST]` runs SEEDS seeds, and runs one in 64 of them (`--repeating`)
/// twice to compare the results; with `--coverage` it prints how often each kind of thing happened in them. With
/// `--coordinators N` that many coordinators share the store.
/// `baton-simulate --seed SEED` runs one seed and prints everything that happens. With
/// `--breakage NAME` the simulated shells have the bug of that name; `baton-simulate --breakages` lists these bugs.
@main
struct Main {
  private static let usage = """
    usage: baton-simulate SEEDS [FIRST] [--threads N] [--repeating N] [--no-shrinking] [--coordinators N] \
    [--breakage NAME], \
    baton-simulate SEEDS [FIRST] --coverage, \
    baton-simulate --seed SEED [--breakage NAME], or baton-simulate --breakages
    """

  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    func text(after option: String) -> String? {
      arguments.firstIndex(of: option).flatMap { arguments[($0 + 1)...].first }
    }
    func number(after option: String) -> Int? { text(after: option).flatMap { Int($0) } }

    if arguments == ["--breakages"] {
      for breakage in Breakage.allCases { print("\(breakage)\t\(breakage.rawValue)") }
      return end(0)
    }
    let breakage = text(after: "--breakage").flatMap(Breakage.named)
    guard breakage != nil || !arguments.contains("--breakage") else {
      print("--breakage: no such bug; baton-simulate --breakages lists the bugs")
      return end(64)
    }
    let coordinators = number(after: "--coordinators") ?? 1
    guard (1...9).contains(coordinators) else {
      print("--coordinators: 1 to 9 coordinators can share the store")
      return end(64)
    }
    if arguments.first == "--seed", let seed = arguments.dropFirst().first.flatMap({ UInt64($0) }) {
      return end(try Command.replay(seed, coordinators: coordinators, breakage))
    }
    guard let count = arguments.first.flatMap({ Int($0) }), count > 0 else {
      print(usage)
      return end(64)
    }
    let first = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
    if arguments.contains("--coverage") {
      return end(try Command.cover(count, first: first, coordinators: coordinators))
    }
    var campaign = Campaign(
      first: first, count: count, threads: number(after: "--threads") ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    campaign.breakage = breakage
    campaign.coordinators = coordinators
    if let repeating = number(after: "--repeating") { campaign.repeating = max(1, repeating) }
    end(try await Command.run(campaign, shrinks: !arguments.contains("--no-shrinking")))
  }
}
