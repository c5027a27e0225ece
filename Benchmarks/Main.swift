import Foundation

/// Measures the figures of the performance page: `baton-benchmarks B1 B3` measures these two, and without a name all
/// are measured. The same program is also the coordinator, the worker and the other processes of the fleet under test.
///  It prints one line of JSON for each result as it becomes known, and a table at the end. `--small` measures less,
/// and only once, for a quick look. `--tls` lets workers join and operators log in, so that everything goes over TLS
/// and not through the Unix socket. `--points FOLDER` writes the points from which the pictures of B10 are drawn.
/// `--pending N` sets how many requests B5 has pending.
@main
enum Benchmarks {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let role = arguments.first.flatMap({ Role(rawValue: $0) }) {
      return try await role.run(Array(arguments.dropFirst()))
    }
    let options = Options(arguments)
    var results: [Measurement] = []
    for figure in options.figures {
      note("\(figure.name): \(figure.title)")
      for result in try await figure.measure(options) {
        say(try result.line())
        results.append(result)
      }
    }
    print(Table(results).text)
  }
}

/// The options on the command line.
struct Options: Sendable {
  var figures = Figure.all + (BenchmarkDatabase.server == nil ? [] : Figure.postgres)
  /// Whether to measure less, and once instead of three times.
  var isSmall = false
  /// How many requests B5 has pending; `nil` for the usual number.
  var pending: Int?
  /// The folder for the points of B10; `nil` to write none.
  var points: String?

  init(_ arguments: [String]) {
    var names: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--small": isSmall = true
      case "--tls": setenv(TLS.variable, "1", 1)
      case "--points": points = rest.popFirst()
      case "--pending":
        pending = rest.popFirst().flatMap { Int($0) }
        // The benchmarks' fleets have the usual limit of 2,000,000, and B5 submits some more.
        guard let pending, (1_000...1_900_000).contains(pending) else {
          note("--pending is followed by a number from 1000 to 1900000")
          exit(64)
        }
      default: names.append(argument)
      }
    }
    guard !names.isEmpty else { return }
    figures = names.map { name in
      let known = Figure.all + Figure.postgres
      guard let figure = known.first(where: { $0.name == name }) else {
        note("there is no figure \(name): " + known.map(\.name).joined(separator: ", "))
        exit(64)
      }
      return figure
    }
  }

  var rounds: Int { isSmall ? 1 : 3 }

  /// Measures a value and its limit alternately, `rounds` times, and returns the medians. Alternating is needed because
  /// the machine's speed varies.
  func medians(_ body: () async throws -> (Double, Double)) async throws -> (Double, Double) {
    var values: ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      let (value, limit) = try await body()
      values.0.append(value)
      values.1.append(limit)
    }
    return (values.0.median, values.1.median)
  }
}

/// A figure and the function that measures it.
struct Figure: Sendable {
  var name: String
  var title: String
  var measure: @Sendable (Options) async throws -> [Measurement]

  static let all = [
    Figure(name: "B1", title: "no-op jobs, submit to completion", measure: Throughput.measure),
    Figure(name: "B2", title: "commands", measure: Commands.measure),
    Figure(name: "B3", title: "submit to handler start", measure: Latency.measure),
    Figure(name: "B4", title: "durable checkpoints", measure: Checkpoints.measure),
    Figure(name: "B5", title: "B1 with a million pending", measure: Pending.measure),
    Figure(name: "B6", title: "10,000 workers", measure: Crowd.measure),
    Figure(name: "B7", title: "condition flips to handler cancelled", measure: Flips.measure),
    Figure(name: "B8", title: "the idle worker", measure: IdleWorker.measure),
    Figure(name: "B9", title: "what tracing costs", measure: Tracing.measure),
    Figure(name: "B10", title: "how cost grows", measure: Growth.measure),
    Figure(name: "B11", title: "commands in the sandbox", measure: Fences.measure),
    Figure(name: "B12", title: "one request on many lanes", measure: Spreading.measure),
    Figure(name: "B21", title: "reading at the size of a fleet", measure: FleetReading.measure),
    Figure(name: "B22", title: "transfers", measure: Transfers.measure),
  ]

  /// The figures of the store in PostgreSQL, which need a server.
  static let postgres = [
    Figure(name: "B13", title: "B1 on PostgreSQL", measure: PostgresThroughput.measure),
    Figure(name: "B14", title: "growth by coordinators", measure: PostgresGrowth.measure),
    Figure(name: "B15", title: "checkpoints on PostgreSQL", measure: PostgresCheckpoints.measure),
    Figure(name: "B16", title: "submit to handler start on PostgreSQL", measure: PostgresLatency.measure),
    Figure(name: "B17", title: "two coordinators with a million pending", measure: PostgresPending.measure),
    Figure(name: "B18", title: "a coordinator is killed", measure: PostgresKill.measure),
    Figure(name: "B19", title: "a store moves to PostgreSQL", measure: PostgresMove.measure),
    Figure(name: "B20", title: "a held snapshot", measure: PostgresSnapshot.measure),
  ]
}

/// Prints a whole line to standard output at once, even if it is a pipe.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(1, bytes, bytes.count)
}

/// Prints a line about the progress to standard error.
func note(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(2, bytes, bytes.count)
}
