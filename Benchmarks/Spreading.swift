import BatonCoordinator
import BatonModel
import BatonStore
import Foundation

/// B12: one request on many lanes. The limit is the ideal: the batches' own time, divided by the lanes.
enum Spreading {
  /// How many lanes the target is for.
  private static let most = 16

  static func measure(_ options: Options) async throws -> [Measurement] {
    var results: [Measurement] = []
    for lanes in [1, 2, 4, 8] {
      // On one lane the 10,000 batches would take more than three minutes, which shows no more than 1,000 do.
      let batches = options.isSmall ? briefly(lanes) : lanes == 1 ? 1_000 : 10_000
      results.append(measurement(batches, lanes: lanes, seconds: try await time(batches, lanes: lanes)))
    }
    results += try await onMostLanes(options.isSmall ? briefly(most) : 10_000, options)
    results.append(try await killedHost(batches: options.isSmall ? 400 : 2_000, options))
    return results
  }

  /// Four seconds of work. With less, the ends of the shards and the start of the request would be most of it.
  private static func briefly(_ lanes: Int) -> Int { 200 * lanes }

  private static func ideal(_ batches: Int, lanes: Int) -> Double { Double(batches) * 0.02 / Double(lanes) }

  private static func measurement(_ batches: Int, lanes: Int, seconds: Double) -> Measurement {
    Measurement(
      "B12 \(batches) batches of 20 ms on \(lanes) lanes, ideal speed against its own",
      value: ideal(batches, lanes: lanes), unit: "s", limit: seconds, target: 0.9)
  }

  /// The ideal of the second result contains the time of the disk: a batch begins when the checkpoint of the batch
  /// before it is on the disk, so each batch of a lane takes at least its own time and one sync.
  private static func onMostLanes(_ batches: Int, _ options: Options) async throws -> [Measurement] {
    let (seconds, sync) = try await options.medians {
      let before = Limits.fdatasync()
      let seconds = try await time(batches, lanes: most)
      return (seconds, (before + Limits.fdatasync()) / 2)
    }
    let withSyncs = ideal(batches, lanes: most) + Double(batches) * sync / Double(most)
    return [
      measurement(batches, lanes: most, seconds: seconds),
      Measurement(
        "B12 the same, the ideal with one sync of the disk for each batch", value: withSyncs, unit: "s",
        limit: seconds, target: 0.9),
    ]
  }

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
      // The request cannot end before, and each question takes processor time from the two programs under test.
      try await Task.sleep(for: .seconds(ideal(batches, lanes: lanes)))
      try await untilSucceeded(api)
      return -start.timeIntervalSinceNow
    }
  }

  // MARK: A host is killed

  /// Runs commands of 200 ms on four hosts with four slots each, first undisturbed. Then one host is killed at half of
  /// that time: ideally the other three need 4/3 of the other half. What is above it is the cost of the kill: what the
  /// host had not committed, the time until its lease ends (1 s here), and the shards' new starts.
  private static func killedHost(batches: Int, _ options: Options) async throws -> Measurement {
    let (seconds, ideal) = try await options.medians {
      let undisturbed = try await commands(batches, killingAfter: nil)
      let killed = try await commands(batches, killingAfter: undisturbed / 2)
      return (killed, undisturbed / 2 + undisturbed / 2 * 4 / 3)
    }
    return Measurement(
      "B12 \(batches) commands of 200 ms on 16 lanes, one of four hosts killed at half time, against its share",
      value: seconds, unit: "s", limit: ideal, target: 1.05, isAtMost: true)
  }

  private static func commands(_ batches: Int, killingAfter half: Double?) async throws -> Double {
    let fleet = try await Fleet(slots: 4, workers: 4, environment: Fleet.untraced + [Role.shortLease: "1"])
    defer { fleet.stop() }
    var definition = Fleet.definition("killed")
    // The file with the items is the argument `$1` of the shell, which `sleep` does not take.
    definition.work = Work(
      command: ["sh", "-c", "exec sleep 0.2", "batch"], items: .range(1...Int64(batches)), pass: .file)
    definition.spread = Spread(lanes: most)
    let victim = fleet.workers[3]
    return try await fleet.withClient([definition]) { api in
      let start = Date()
      try await Fleet.submit([Fleet.order("killed", id: "killed")], to: api)
      if let half {
        try await Task.sleep(for: .seconds(half))
        victim.end()
      }
      try await untilSucceeded(api, name: "killed")
      return -start.timeIntervalSinceNow
    }
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
