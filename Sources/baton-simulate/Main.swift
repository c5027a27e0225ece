import BatonSimulation

/// `baton-simulate SEEDS [FIRST]` runs so many seeds; `baton-simulate --seed SEED` runs one and says all that happens.
@main
struct Main {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "--seed", let seed = arguments.dropFirst().first.flatMap({ UInt64($0) }) {
      return end(try Command.replay(seed))
    }
    let threads = arguments.firstIndex(of: "--threads").flatMap { Int(arguments[($0 + 1)...].first ?? "") }
    guard let count = arguments.first.flatMap({ Int($0) }), count > 0 else {
      print("usage: baton-simulate SEEDS [FIRST] [--threads N] [--no-shrinking], or baton-simulate --seed SEED")
      return end(64)
    }
    let first = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
    end(
      try await Command.run(count, first: first, threads: threads, shrinks: !arguments.contains("--no-shrinking")))
  }
}
