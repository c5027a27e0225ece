import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation

/// B1: no-op Swift handlers, from submission to completion: 50,000 jobs, submitted in calls of 1,000.
enum Throughput {
  static func measure() async throws -> [Measurement] {
    var rates: [Double] = []
    for _ in 0..<3 { rates.append(try await rate(jobs: 50_000)) }
    let limit = try Limits.jobLives(100_000, perCommit: 100)
    return [
      Measurement("B1 no-op jobs end to end", value: rates.median, unit: "jobs/s", limit: limit, target: 0.25)
    ]
  }

  static func rate(jobs: Int, environment: [String: String] = ["OTEL_SDK_DISABLED": "true"]) async throws -> Double {
    let fleet = try await Fleet(slots: 2048, environment: environment)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      let start = Date()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for first in stride(from: 0, to: jobs, by: 1000) {
          // Two calls under way, so that the coordinator never waits for the submitter.
          if first >= 2000 { try await group.next() }
          group.addTask { try await submit(first..<first + 1000, to: api) }
        }
        try await group.waitForAll()
      }
      let unfinished = RequestFilter(states: [.scheduled, .ready, .running])
      while try await !api.requests(unfinished, after: nil, limit: 1).isEmpty {
        try await Task.sleep(for: .milliseconds(10))
      }
      return Double(jobs) / -start.timeIntervalSinceNow
    }
  }

  private static func submit(_ range: Range<Int>, to api: any OperatorAPI) async throws {
    let orders = range.map {
      SubmissionOrder(id: "bench-\($0)", identifier: JobIdentifier("com.example.bench.noop.\($0)")!)
    }
    for result in try await api.submit(orders, by: "bench") {
      guard case .accepted = result else { fatalError("\(result)") }
    }
  }
}

/// B3: from submission to the start of the handler on an idle fleet, 1,000 in sequence.
enum Latency {
  static func measure() async throws -> [Measurement] {
    let fleet = try await Fleet(slots: 8)
    defer { fleet.stop() }
    let times = try await fleet.withClient { api in
      var times: [Double] = []
      for index in 0..<1100 {
        let start = SystemClocks.instant()
        _ = try await api.submit(
          [SubmissionOrder(id: "bench-\(index)", identifier: JobIdentifier("com.example.bench.start")!)], by: "bench")
        let line = await fleet.nextLine { $0.hasPrefix("start ") }
        let nanoseconds = line.split(separator: " ").last.flatMap { Int64($0) } ?? 0
        if index >= 100 { times.append((Instant(nanoseconds: nanoseconds) - start).inSeconds) }
        while try await api.details(JobIdentifier("com.example.bench.start")!, number: nil).record.state == .running {}
      }
      return times
    }
    let limit = Limits.fdatasync() + 2 * (try Limits.roundTrip())
    return [
      Measurement(
        "B3 submit to handler start, p50", value: times.median * 1000, unit: "ms", limit: limit * 1000, target: 3,
        isAtMost: true),
      Measurement(
        "B3 submit to handler start, p99 (against 4 ms)", value: times.percentile(0.99) * 1000, unit: "ms", limit: 4,
        target: 1, isAtMost: true),
    ]
  }
}

/// B4: durable checkpoints of 256 bytes: one job in sequence, and 200 jobs at once.
enum Checkpoints {
  static func measure() async throws -> [Measurement] {
    let single = try await median { try await rate(jobs: 1, each: 3000) }
    let many = try await median { try await rate(jobs: 200, each: 250) }
    let commit = 1 / (try Limits.checkpoints(3000, perCommit: 1))
    let sequence = 1 / (commit + (try Limits.roundTrip()))
    let group = try Limits.checkpoints(300_000, perCommit: 100)
    return [
      Measurement("B4 checkpoints, one job", value: single, unit: "checkpoints/s", limit: sequence, target: 0.5),
      Measurement("B4 checkpoints, 200 jobs", value: many, unit: "checkpoints/s", limit: group, target: 0.08),
    ]
  }

  private static func median(_ body: () async throws -> Double) async throws -> Double {
    var values: [Double] = []
    for _ in 0..<3 { values.append(try await body()) }
    return values.median
  }

  private static func rate(jobs: Int, each count: Int) async throws -> Double {
    let fleet = try await Fleet(slots: jobs)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      let orders = (0..<jobs).map {
        SubmissionOrder(
          id: "bench-\($0)", identifier: JobIdentifier("com.example.bench.checkpoint.\($0)")!,
          payload: Array(String(count).utf8))
      }
      _ = try await api.submit(orders, by: "bench")
      var (begin, end) = (Int64.max, Int64.min)
      for _ in 0..<jobs * 2 {
        let words = await fleet.nextLine { $0.hasPrefix("begin") || $0.hasPrefix("end") }.split(separator: " ")
        let time = Int64(words[1]) ?? 0
        if words[0] == "begin" { begin = min(begin, time) } else { end = max(end, time) }
      }
      return Double(jobs * count) / (Double(end - begin) / 1e9)
    }
  }
}
