import BatonSimulation

/// The simulator's program. `baton-simulate SEEDS [FIRST]` runs SEEDS seeds, and runs one in 64 of them (`--repeating`)
/// twice to compare the results. `baton-simulate --seed SEED` runs one seed and prints everything that happens. With
/// `BATON_PLANTED_BUG` the simulated fleets have the bug of that name; `baton-simulate --plants` lists the bugs.
@main
struct Main {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments == ["--plants"] { return end(Plants.list()) }
    guard Plants.choose() else { return end(64) }
    if arguments.first == "--seed", let seed = arguments.dropFirst().first.flatMap({ UInt64($0) }) {
      return end(try Command.replay(seed))
    }
    func number(after option: String) -> Int? {
      arguments.firstIndex(of: option).flatMap { Int(arguments[($0 + 1)...].first ?? "") }
    }
    guard let count = arguments.first.flatMap({ Int($0) }), count > 0 else {
      print(
        "usage: baton-simulate SEEDS [FIRST] [--threads N] [--repeating N] [--no-shrinking], or "
          + "baton-simulate --seed SEED")
      return end(64)
    }
    let first = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
    end(
      try await Command.run(
        count, first: first, threads: number(after: "--threads"), repeating: number(after: "--repeating"),
        shrinks: !arguments.contains("--no-shrinking")))
  }
}
