import Foundation

/// One command per figure of the performance page: `baton-benchmarks B1`. The same program is the coordinator and the
/// worker of the fleet under test, each in a process of its own.
@main
enum Benchmarks {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "coordinator": try await Role.coordinator(data: arguments[1])
    case "worker": try await Role.worker(port: arguments[1], data: arguments[2], slots: Int(arguments[3]) ?? 1)
    case "sink": try Sink.run()
    case "idle": try await Role.idle(port: arguments[1], data: arguments[2], probes: arguments[3])
    case let name?:
      guard let figure = Figure.all.first(where: { $0.name == name }) else {
        print("there is no figure \(name): " + Figure.all.map(\.name).joined(separator: ", "))
        exit(64)
      }
      for result in try await figure.measure() { print(try result.line()) }
    case nil:
      for figure in Figure.all {
        for result in try await figure.measure() { print(try result.line()) }
      }
    }
  }
}

/// A figure and how it is measured.
struct Figure: Sendable {
  var name: String
  var measure: @Sendable () async throws -> [Measurement]

  static let all = [
    Figure(name: "B1", measure: Throughput.measure),
    Figure(name: "B3", measure: Latency.measure),
    Figure(name: "B4", measure: Checkpoints.measure),
    Figure(name: "B7", measure: Flips.measure),
    Figure(name: "B8", measure: IdleWorker.measure),
    Figure(name: "B9", measure: Tracing.measure),
  ]
}

/// One result with the limit from the same run.
struct Measurement: Codable {
  /// Begins with the figure's number.
  var figure: String
  var value: Double
  var unit: String
  var limit: Double
  var ratio: Double
  var target: Double
  /// `met` or `missed`: whether the ratio is on the right side of the target.
  var verdict: String
  /// Of the machine, over the last minute.
  var load: Double

  init(_ figure: String, value: Double, unit: String, limit: Double, target: Double, isAtMost: Bool = false) {
    self.figure = figure
    self.value = value.rounded(to: 4)
    self.unit = unit
    self.limit = limit.rounded(to: 4)
    ratio = (value / limit).rounded(to: 3)
    self.target = target
    verdict = (isAtMost ? value / limit <= target : value / limit >= target) ? "met" : "missed"
    var loads = [0.0]
    getloadavg(&loads, 1)
    load = loads[0].rounded(to: 2)
  }

  func line() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

extension Double {
  func rounded(to digits: Int) -> Double {
    let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
    return (self * scale).rounded() / scale
  }
}

extension [Double] {
  /// The value that a share of all is at or below.
  func percentile(_ share: Double) -> Double {
    let sorted = sorted()
    return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  var median: Double { percentile(0.5) }
}
