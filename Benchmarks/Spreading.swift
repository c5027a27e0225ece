import BatonCoordinator
import BatonModel
import BatonStore
import Foundation

/// B12: one request on many lanes. The limit is the ideal: the batches' own time, divided by the lanes.
enum Spreading {
  static func measure(_ options: Options) async throws -> [Measurement] {
    var results: [Measurement] = []
    for lanes in [1, 2, 4, 8, 16] {
      // On one lane the 10,000 batches would take more than three minutes, which shows no more than 1,000 do.
      let batches = options.isSmall || lanes == 1 ? 1_000 : 10_000
      let seconds = try await time(batches, lanes: lanes)
      results.append(
        Measurement(
          "B12 \(batches) batches of 20 ms on \(lanes) lanes, ideal speed against its own",
          value: ideal(batches, lanes: lanes), unit: "s", limit: seconds, target: 0.9))
    }
    results.append(try await killedHost(batches: options.isSmall ? 400 : 2_000))
    return results
  }

  private static func ideal(_ batches: Int, lanes: Int) -> Double { Double(batches) * 0.02 / Double(lanes) }

  /// The seconds from the submission of a request to its end. Its batches sleep in a Swift handler, so that the time is
  /// not that of starting processes.
  private static func time(_ batches: Int, lanes: Int) async throws -> Double {
    let fleet = try await Fleet(slots: lanes)
    defer { fleet.stop() }
    var definition = Fleet.definition("spread")
    definition.spread = Spread(lanes: lanes, shards: 4 * lanes)
    return try await fleet.withClient([definition]) { [batches] api in
      let payload = try JSONEncoder().encode([batches, 20])
      let start = Date()
      try await Fleet.submit([Fleet.order("spread", id: "spread", payload: Array(payload))], to: api)
      try await untilSucceeded(api)
      return -start.timeIntervalSinceNow
    }
  }

  /// Four hosts with four slots each run commands of 100 ms. At half of the ideal time one host is killed; the ideal is
  /// what the other three need for the rest.
  private static func killedHost(batches: Int) async throws -> Measurement {
    let fleet = try await Fleet(slots: 4, workers: 4, environment: Fleet.untraced + [Role.shortLease: "1"])
    defer { fleet.stop() }
    var definition = Fleet.definition("killed")
    definition.work = Work(command: ["sleep", "0.1"], items: .range(1...Int64(batches)), pass: .file)
    definition.work?.command = ["sh", "-c", "exec sleep 0.1", "batch"]
    definition.spread = Spread(lanes: 16)
    let half = Double(batches) / 2 * 0.1 / 16
    let ideal = half + Double(batches) / 2 * 0.1 / 12
    let victim = fleet.workers[3]
    let seconds = try await fleet.withClient([definition]) { api in
      let start = Date()
      try await Fleet.submit([Fleet.order("killed", id: "killed")], to: api)
      try await Task.sleep(for: .seconds(half))
      victim.end()
      try await untilSucceeded(api, name: "killed")
      return -start.timeIntervalSinceNow
    }
    return Measurement(
      "B12 \(batches) commands of 100 ms on 16 lanes, one of four hosts killed at half time, against the ideal",
      value: seconds, unit: "s", limit: ideal, target: 1.05, isAtMost: true)
  }

  private static func untilSucceeded(_ api: any OperatorAPI, name: String = "spread") async throws {
    let identifier = JobIdentifier(Fleet.prefix + name)!
    while true {
      let record = try await api.details(identifier, number: nil).record
      if record.state == .succeeded { return }
      precondition(!record.state.isEnded, "the request \(record.state.predicate): \(record.reason ?? "")")
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

private func + (one: [String: String], other: [String: String]) -> [String: String] { one.merging(other) { $1 } }
