import BatonCoordinator
import BatonModel
import Foundation

/// B10: how the cost of a job grows with the number of workers, definitions and batches, and with the size of
/// checkpoints. Each result is the exponent of a power of the size: 1 is linear growth, 0 is no growth.
enum Growth {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let curves = try await [
      Curve("workers", [1, 2, 4, 8], "B10 seconds for 10,000 jobs, by workers") { try await Self.jobs(workers: $0) },
      Curve("definitions", [1, 10, 100, 1000], "B10 seconds for 10,000 jobs, by definitions") {
        try await Self.jobs(definitions: $0)
      },
      Curve("batches", [1, 10, 100, 1000, 10_000], "B10 seconds for a job, by its batches") {
        try await Self.batches($0)
      },
      Curve("checkpoint", [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20], "B10 seconds for a checkpoint, by its bytes") {
        try await Self.checkpoint(bytes: $0)
      },
    ]
    if let folder = options.points { for curve in curves { try curve.write(to: folder) } }
    // The tolerance of a tenth is for other load on the machine.
    return curves.map { .bound($0.title + ", exponent", $0.exponent, "", atMost: 1.1) }
  }

  private static func jobs(workers: Int) async throws -> Double {
    let fleet = try await Fleet(slots: 512, workers: workers)
    defer { fleet.stop() }
    return try await fleet.withClient {
      10_000 / (try await Throughput.rate(jobs: 10_000, over: ["noop"], with: $0))
    }
  }

  private static func jobs(definitions: Int) async throws -> Double {
    let fleet = try await Fleet(slots: 2048)
    defer { fleet.stop() }
    let names = (0..<definitions).map { "grown.of-\($0)" }
    return try await fleet.withClient(names.map { Fleet.definition($0 + ".*") }) {
      10_000 / (try await Throughput.rate(jobs: 10_000, over: names, with: $0))
    }
  }

  private static func batches(_ count: Int) async throws -> Double {
    Double(count) / (try await Checkpoints.rate(jobs: 1, each: count))
  }

  private static func checkpoint(bytes: Int) async throws -> Double {
    1 / (try await Checkpoints.rate(jobs: 1, each: 100, bytes: bytes * 9 / 10))
  }
}

/// The measured cost at each of several sizes.
private struct Curve: Sendable {
  let name: String
  let title: String
  private(set) var points: [(size: Int, seconds: Double)] = []

  init(_ name: String, _ sizes: [Int], _ title: String, cost: (Int) async throws -> Double) async throws {
    (self.name, self.title) = (name, title)
    for size in sizes {
      // The smallest of three measurements counts, because other load on the machine only adds to the cost.
      var least = Double.infinity
      for _ in 0..<3 { least = min(least, try await cost(size)) }
      points.append((size, least))
      note("  \(name) \(size): \(least.rounded(to: 6)) s")
    }
  }

  /// The exponent of the power of the size that fits best: the slope of the least-squares line through the logarithms.
  /// Only the upper half of the sizes counts, because at small sizes constant costs hide the growth.
  var exponent: Double {
    let upper = points.suffix(max(2, points.count / 2 + 1)).map { (x: log(Double($0.size)), y: log($0.seconds)) }
    let (x, y) = (upper.map(\.x).reduce(0, +) / Double(upper.count), upper.map(\.y).reduce(0, +) / Double(upper.count))
    let slope = upper.map { ($0.x - x) * ($0.y - y) }.reduce(0, +) / upper.map { ($0.x - x) * ($0.x - x) }.reduce(0, +)
    return max(slope, 0.001)
  }

  func write(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let text = points.map { "\($0.size) \($0.seconds)" }.joined(separator: "\n") + "\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).dat"))
  }
}
