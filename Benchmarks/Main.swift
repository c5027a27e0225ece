import Foundation

/// The figures of the performance page: `baton-benchmarks B1 B3`, or all of them without a name. The same program is the
/// coordinator, the worker and the rest of the fleet under test, each in a process of its own.
///
/// Prints one line of JSON for each result as it comes and a table at the end. `--small` measures less, once, for a quick
/// look; `--points FOLDER` writes what the pictures of B10 are drawn from.
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

/// What the command line asks for.
struct Options: Sendable {
  var figures = Figure.all
  /// Less of everything, and once instead of three times.
  var isSmall = false
  /// Where the points of B10 go; nil and they go nowhere.
  var points: String?

  init(_ arguments: [String]) {
    var names: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--small": isSmall = true
      case "--points": points = rest.popFirst()
      default: names.append(argument)
      }
    }
    guard !names.isEmpty else { return }
    figures = names.map { name in
      guard let figure = Figure.all.first(where: { $0.name == name }) else {
        note("there is no figure \(name): " + Figure.all.map(\.name).joined(separator: ", "))
        exit(64)
      }
      return figure
    }
  }

  var rounds: Int { isSmall ? 1 : 3 }

  /// The medians of so many rounds of a value and its limit, taken in turn: the machine is not as fast at all times.
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

/// A figure and how it is measured.
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
  ]
}

/// Prints a whole line at once, through a pipe too.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(1, bytes, bytes.count)
}

/// For people: what goes on.
func note(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(2, bytes, bytes.count)
}
