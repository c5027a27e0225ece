import BatonCoordinator
import BatonModel
import BatonStore
import Foundation

/// B1: the rate of no-op Swift handlers, from submission to completion: 50,000 jobs, submitted in calls of 1,000.
enum Throughput {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let jobs = options.isSmall ? 10_000 : 50_000
    let (rate, limit) = try await options.medians {
      (try await Self.rate(jobs: jobs), try Limits.jobLives(jobs, perCommit: 100))
    }
    return [Measurement("B1 no-op jobs end to end", value: rate, unit: "jobs/s", limit: limit, target: 0.3)]
  }

  /// The rate of no-op jobs on a new fleet, in jobs per second.
  ///
  /// - Parameter untilSent: whether the time includes sending the spans, until a tracing backend has confirmed the last
  ///   span of the last job.
  static func rate(
    jobs: Int, environment: [String: String] = Fleet.untraced, untilSent: Bool = false
  ) async throws -> Double {
    let fleet = try await Fleet(slots: 2048, environment: environment)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      try await rate(jobs: jobs, over: ["noop"], with: api) { if untilSent { try await fleet.untilSpansAreSent() } }
    }
  }

  /// The rate of jobs, in jobs per second.
  ///
  /// - Parameters:
  ///   - definitions: the definitions of the jobs, which take turns.
  ///   - afterwards: runs after the jobs have ended, and is part of the measured time.
  static func rate(
    jobs: Int, over definitions: [String], with api: any OperatorAPI,
    afterwards: @Sendable () async throws -> Void = {}
  ) async throws -> Double {
    let start = Date()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for first in stride(from: 0, to: jobs, by: 1000) {
        // Two calls are under way at any time, so that the coordinator never waits for the next call.
        if first >= 2000 { try await group.next() }
        group.addTask { try await submit(first..<min(first + 1000, jobs), over: definitions, to: api) }
      }
      try await group.waitForAll()
    }
    try await untilDone(definitions.count == 1 ? definitions[0] : nil, api)
    try await afterwards()
    return Double(jobs) / -start.timeIntervalSinceNow
  }

  private static func submit(_ range: Range<Int>, over definitions: [String], to api: any OperatorAPI) async throws {
    // Each run has its own identifiers, because several runs use the same fleet.
    let run = UUID().uuidString.prefix(8)
    let orders = range.map {
      Fleet.order("\(definitions[$0 % definitions.count]).\(run)-\($0)", id: "\(run)-\($0)")
    }
    try await Fleet.submit(orders, to: api)
  }

  /// Waits until all requests have ended.
  ///
  /// - Parameter definition: waits only for the requests of this definition; `nil` for all requests.
  static func untilDone(_ definition: String?, _ api: any OperatorAPI) async throws {
    let unfinished = RequestFilter(
      states: [.scheduled, .ready, .running], pattern: definition.map { IdentifierPattern(Fleet.prefix + "\($0).*")! })
    while try await !api.requests(unfinished, after: nil, limit: 1).isEmpty {
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}

/// B2: the rate of commands: 2,000 of `/bin/true`, with one batch each. They are supervised, their output is captured,
/// and their progress is committed.
enum Commands {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let (rate, limit) = try await options.medians {
      (try await Self.rate(jobs: 2000), try await Limits.spawns(2000, atOnce: 4))
    }
    return [Measurement("B2 commands, four at a time", value: rate, unit: "jobs/s", limit: limit, target: 0.6)]
  }

  private static func rate(jobs: Int) async throws -> Double {
    let fleet = try await Fleet(slots: 4)
    defer { fleet.stop() }
    var definition = Fleet.definition("command.*")
    definition.work = Work(command: ["/bin/true"])
    return try await fleet.withClient([definition]) {
      try await Throughput.rate(jobs: jobs, over: ["command"], with: $0)
    }
  }
}
