import BatonBase
import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation

/// B3: the time from submission to the start of the handler on an idle fleet, for 1,000 jobs one after the other.
enum Latency {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let times = try await times(options.isSmall ? 300 : 1000)
    let limit = Limits.fdatasync() + 2 * (try Limits.roundTrip())
    return [
      Measurement(
        "B3 submit to handler start, p50", value: times.median * 1000, unit: "ms", limit: limit * 1000, target: 5,
        isAtMost: true),
      .bound("B3 submit to handler start, p99", times.percentile(0.99) * 1000, "ms", atMost: 4),
    ]
  }

  /// The times in seconds of `count` jobs, after a hundred others.
  static func times(_ count: Int, store: BenchmarkDatabase? = nil) async throws -> [Double] {
    let fleet = try await Fleet(slots: 8, store: store)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      var times: [Double] = []
      for index in 0..<count + 100 {
        let time = try await time(of: index, fleet, api)
        if index >= 100 { times.append(time) }
      }
      return times
    }
  }

  /// The time in seconds from the submission of one job to the start of its handler. Returns when the job has ended.
  private static func time(of index: Int, _ fleet: Fleet, _ api: any OperatorAPI) async throws -> Double {
    let start = SystemClocks.instant()
    try await Fleet.submit([Fleet.order("start", id: "bench-\(index)")], to: api)
    let line = await fleet.nextLine { $0.hasPrefix("start ") }
    let nanoseconds = line.split(separator: " ").last.flatMap { Int64($0) } ?? 0
    let identifier = JobIdentifier(Fleet.prefix + "start")!
    while try await api.details(identifier, number: nil).record.state == .running {}
    return (Instant(nanoseconds: nanoseconds) - start).inSeconds
  }
}

/// B4: durable checkpoints of 256 bytes: of one job, and of 200 jobs at once.
enum Checkpoints {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let (single, sequence) = try await options.medians {
      let commit = 1 / (try Limits.checkpoints(3000, perCommit: 1))
      return (try await rate(jobs: 1, each: 3000), 1 / (commit + (try Limits.roundTrip())))
    }
    let (many, group) = try await options.medians {
      (try await rate(jobs: 200, each: options.isSmall ? 100 : 250), try Limits.checkpoints(100_000, perCommit: 100))
    }
    return [
      Measurement("B4 checkpoints, one job", value: single, unit: "checkpoints/s", limit: sequence, target: 0.5),
      Measurement("B4 checkpoints, 200 jobs", value: many, unit: "checkpoints/s", limit: group, target: 0.16),
    ]
  }

  /// The number of checkpoints per second, from the first begin to the last end of a job.
  ///
  /// - Parameter bytes: the approximate size of each checkpoint's cursor.
  static func rate(
    jobs: Int, each count: Int, bytes: Int = 220, store: BenchmarkDatabase? = nil
  ) async throws -> Double {
    let fleet = try await Fleet(slots: jobs, store: store)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      let orders = (0..<jobs).map {
        Fleet.order("checkpoint.\($0)", id: "bench-\($0)", payload: Array("[\(count),\(bytes)]".utf8))
      }
      try await Fleet.submit(orders, to: api)
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
