import BatonBase
import BatonCoordinator
import BatonModel
import BatonStore
import Foundation

/// B13: B1 with the store in PostgreSQL.
enum PostgresThroughput {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let jobs = options.isSmall ? 10_000 : 50_000
    let (rate, limit) = try await options.medians {
      let database = try BenchmarkDatabase.make()
      defer { database.remove() }
      let fleet = try await Fleet(slots: 2048, store: database)
      defer { fleet.stop() }
      let rate = try await fleet.withClient { try await Throughput.rate(jobs: jobs, over: ["noop"], with: $0) }
      return (rate, try await PostgresLimits.jobLives(jobs, perCommit: 100))
    }
    return [
      Measurement("B13 no-op jobs on PostgreSQL", value: rate, unit: "jobs/s", limit: limit, target: 0.4)
    ]
  }
}

/// B14: B13 with 1, 2 and 4 coordinators, each held to a tenth of a core. Each coordinator has a worker and a submitter
/// of its own.
enum PostgresGrowth {
  static func measure(_ options: Options) async throws -> [Measurement] {
    guard ProcessorShare.isPossible else {
      note("  skipped: this user cannot hold a process to a share of a core (needs root and cgroups)")
      return []
    }
    var rates: [Int: [Double]] = [:]
    for _ in 0..<options.rounds {
      for count in [1, 2, 4] {
        rates[count, default: []].append(try await rate(of: count, jobs: options.isSmall ? 1000 : 3000))
      }
    }
    let alone = rates[1]!.median
    return [(2, 1.8), (4, 3.2)].map { count, target in
      Measurement(
        "B14 \(count) coordinators, each held to 0.1 core, against one", value: rates[count]!.median, unit: "jobs/s",
        limit: alone, target: target)
    }
  }

  private static func rate(of count: Int, jobs: Int) async throws -> Double {
    let database = try BenchmarkDatabase.make()
    defer { database.remove() }
    let fleet = try await Fleet(slots: 512, workers: count, coordinators: count, store: database)
    defer { fleet.stop() }
    return try await fleet.withClient { _ in
      let shares = try fleet.coordinators.map { try ProcessorShare(of: $0.pid, 0.1) }
      defer { for share in shares { share.end() } }
      let start = Date()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for port in fleet.ports {
          group.addTask {
            try await Fleet.withClient(port: port) {
              _ = try await Throughput.rate(jobs: jobs, over: ["noop"], with: $0)
            }
          }
        }
        try await group.waitForAll()
      }
      return Double(jobs * count) / -start.timeIntervalSinceNow
    }
  }
}

/// Holds a process to a share of a core, by a control group of its own.
struct ProcessorShare {
  private static let (unified, divided) = ("/sys/fs/cgroup/baton-bench", "/sys/fs/cgroup/cpu/baton-bench")
  private static let root =
    FileManager.default.fileExists(atPath: "/sys/fs/cgroup/cgroup.controllers")
    ? unified : divided
  private let folder: String

  static var isPossible: Bool {
    let parent = (root as NSString).deletingLastPathComponent
    return getuid() == 0 && FileManager.default.isWritableFile(atPath: parent)
  }

  init(of pid: Int32, _ share: Double) throws {
    folder = "\(Self.root)-\(pid)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    // Short periods, so that a coordinator never stands still for long.
    let period = 20_000
    let quota = Int(Double(period) * share)
    if Self.root == Self.unified {
      try "\(quota) \(period)".write(toFile: folder + "/cpu.max", atomically: false, encoding: .utf8)
    } else {
      try "\(period)".write(toFile: folder + "/cpu.cfs_period_us", atomically: false, encoding: .utf8)
      try "\(quota)".write(toFile: folder + "/cpu.cfs_quota_us", atomically: false, encoding: .utf8)
    }
    try "\(pid)".write(toFile: folder + "/cgroup.procs", atomically: false, encoding: .utf8)
  }

  /// Lets the process have all of the machine again.
  func end() {
    let parent = (folder as NSString).deletingLastPathComponent
    let members = (try? String(contentsOfFile: folder + "/cgroup.procs", encoding: .utf8)) ?? ""
    for pid in members.split(separator: "\n") {
      try? String(pid).write(toFile: parent + "/cgroup.procs", atomically: false, encoding: .utf8)
    }
    rmdir(folder)
  }
}

/// B15: B4 with the store in PostgreSQL: checkpoints of 200 jobs at once.
enum PostgresCheckpoints {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let (rate, limit) = try await options.medians {
      let database = try BenchmarkDatabase.make()
      defer { database.remove() }
      let rate = try await Checkpoints.rate(jobs: 200, each: options.isSmall ? 100 : 250, store: database)
      return (rate, try await PostgresLimits.checkpoints(100_000, perCommit: 200))
    }
    return [
      Measurement(
        "B15 checkpoints on PostgreSQL, 200 jobs", value: rate, unit: "checkpoints/s", limit: limit, target: 0.3)
    ]
  }
}

/// B16: B3 with the store in PostgreSQL.
enum PostgresLatency {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let database = try BenchmarkDatabase.make()
    defer { database.remove() }
    let times = try await Latency.times(options.isSmall ? 300 : 1000, store: database)
    let limit = try await PostgresLimits.commit() + 2 * (try Limits.roundTrip())
    return [
      Measurement(
        "B16 submit to handler start on PostgreSQL, p50", value: times.median * 1000, unit: "ms", limit: limit * 1000,
        target: 3, isAtMost: true)
    ]
  }
}

/// B17: the rate of two coordinators beside a million pending requests, after 100,000 claims, compared to the rate
/// beside a thousand.
enum PostgresPending {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let (many, claims, jobs) = options.isSmall ? (50_000, 5_000, 10_000) : (1_000_000, 100_000, 20_000)
    let (large, small) = (try await Backlog(many), try await Backlog(1000))
    defer {
      large.database.remove()
      small.database.remove()
    }
    note("  \(many) requests are pending")
    var rates: (large: [Double], small: [Double]) = ([], [])
    _ = try await large.rate(claims)
    note("  \(claims) more have been claimed")
    for _ in 0..<options.rounds {
      rates.small.append(try await small.rate(jobs))
      rates.large.append(try await large.rate(jobs))
    }
    return [
      Measurement(
        "B17 two coordinators beside \(many) pending, against 1000", value: rates.large.median, unit: "jobs/s",
        limit: rates.small.median, target: 0.9)
    ]
  }

  /// A database with requests that wait for a GPU, which no host has.
  private struct Backlog {
    let database: BenchmarkDatabase

    init(_ count: Int) async throws {
      let made = try BenchmarkDatabase.make()
      database = made
      var blocked = Fleet.definition("blocked.*")
      blocked.requirements.gpu = GPURequirement(count: 1)
      let definition = blocked
      let fleet = try await Fleet(slots: 1, store: made)
      defer { fleet.stop() }
      try await fleet.withClient([definition]) { api in
        for first in stride(from: 0, to: count, by: 1000) {
          try await Fleet.submit(
            (first..<min(first + 1000, count)).map { Fleet.order("blocked.\($0)", id: "blocked-\($0)") }, to: api)
        }
      }
      try made.analyze()
    }

    func rate(_ jobs: Int) async throws -> Double {
      let fleet = try await Fleet(slots: 1024, workers: 2, coordinators: 2, store: database)
      defer { fleet.stop() }
      return try await fleet.withClient { _ in
        let start = Date()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for port in fleet.ports {
            group.addTask {
              try await Fleet.withClient(port: port) {
                _ = try await Throughput.rate(jobs: jobs / 2, over: ["noop"], with: $0)
              }
            }
          }
          try await group.waitForAll()
        }
        return Double(jobs) / -start.timeIntervalSinceNow
      }
    }
  }
}

/// B18: one of two coordinators is killed; its workers commit at the other one.
enum PostgresKill {
  static func measure(_ options: Options) async throws -> [Measurement] {
    var longest = 0.0
    var ended = 0
    for _ in 0..<options.rounds * 2 {
      let round = try await kill(workers: 8)
      longest = max(longest, round.longest)
      ended += round.ended
    }
    return [
      .bound("B18 coordinator killed to the last of its workers' next commits", longest, "s", atMost: 4),
      Measurement(
        "B18 launches that ended because of it", value: Double(ended), unit: "", limit: 1, target: 0, isAtMost: true),
    ]
  }

  private static func kill(workers: Int) async throws -> (longest: Double, ended: Int) {
    let database = try BenchmarkDatabase.make()
    defer { database.remove() }
    let fleet = try await Fleet(slots: 1, workers: workers, canMove: true, coordinators: 2, store: database)
    defer { fleet.stop() }
    try await fleet.withClient([Fleet.definition("endless.*")]) { api in
      try await Fleet.submit((0..<workers).map { Fleet.order("endless.\($0)", id: "endless-\($0)") }, to: api)
    }
    for worker in fleet.workers { _ = await worker.line { $0.hasPrefix("checkpoint ") } }
    // The workers choose their coordinators at random: about half of them have the one that is killed.
    let killed = SystemClocks.instant()
    fleet.coordinators[0].end()
    var longest = 0.0
    var ended = 0
    for worker in fleet.workers {
      // Every commit may have been answered before the kill; the third one after it was begun after it.
      var commits = 0
      let line = await worker.line { line in
        guard let time = Self.time(of: line), time > killed else { return false }
        commits += 1
        return commits == 2
      }
      longest = max(longest, ((Self.time(of: line) ?? killed) - killed).inSeconds)
      if line.split(separator: " ").dropFirst().first != "1" { ended += 1 }
    }
    return (longest, ended)
  }

  static func time(of line: String) -> Instant? {
    line.hasPrefix("checkpoint ") ? line.split(separator: " ").last.flatMap { Int64($0) }.map(Instant.init) : nil
  }
}

/// B19: a store with a million pending requests moves to PostgreSQL, while workers run launches.
enum PostgresMove {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let count = options.isSmall ? 50_000 : 1_000_000
    var times: [Double] = []
    var lost = 0
    for _ in 0..<options.rounds {
      let round = try await move(count, workers: 8)
      note("  the move took \(round.move.rounded(to: 1)) s, until the last commit \(round.all.rounded(to: 1)) s")
      times.append(round.all)
      lost += round.lost
    }
    return [
      .bound(
        "B19 move of \(count) pending requests, to the last of the workers' next commits", times.max() ?? 0, "s",
        atMost: 60),
      Measurement(
        "B19 launches that were lost by it", value: Double(lost), unit: "", limit: 1, target: 0, isAtMost: true),
    ]
  }

  /// - Returns: how long the command took, the time to the last of the workers' next commits, and how many launches
  ///   ended.
  private static func move(_ count: Int, workers: Int) async throws -> (move: Double, all: Double, lost: Int) {
    let (backlog, database) = (try await Backlog(count), try BenchmarkDatabase.make())
    let fleet = try await Fleet(slots: 1, workers: workers, data: backlog.data)
    defer {
      fleet.stop()
      database.remove()
      backlog.remove()
    }
    try await fleet.withClient([Fleet.definition("endless.*")]) { api in
      try await Fleet.submit((0..<workers).map { Fleet.order("endless.\($0)", id: "endless-\($0)") }, to: api)
    }
    for worker in fleet.workers { _ = await worker.line { $0.hasPrefix("checkpoint ") } }
    let start = SystemClocks.instant()
    _ = try await Fleet.withOwnClient(port: fleet.port) {
      try await $0.moveStore(to: .postgres(database.address), isRehearsal: false) { _ in }
    }
    let moved = SystemClocks.instant()
    _ = await fleet.coordinator.line { _ in false }
    // As a service manager does it.
    let next = try Child(["coordinator", backlog.data, "\(fleet.port)"], Fleet.untraced)
    defer { next.stop() }
    var (last, lost) = (moved, 0)
    for worker in fleet.workers {
      let line = await worker.line { PostgresKill.time(of: $0).map { $0 > moved } ?? false }
      last = max(last, PostgresKill.time(of: line) ?? moved)
      if line.split(separator: " ").dropFirst().first != "1" { lost += 1 }
    }
    return ((moved - start).inSeconds, (last - start).inSeconds, lost)
  }
}

/// B20: B13 while another session holds a snapshot, compared to B13 without it.
enum PostgresSnapshot {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let seconds = options.isSmall ? 10.0 : 60.0
    let (held, free) = try await options.medians {
      (try await rate(for: seconds, isHeld: true), try await rate(for: seconds, isHeld: false))
    }
    return [
      Measurement(
        "B20 no-op jobs beside a snapshot held for \(Int(seconds)) s, against none", value: held, unit: "jobs/s",
        limit: free, target: 0.8)
    ]
  }

  /// The rate in jobs per second.
  private static func rate(for seconds: Double, isHeld: Bool) async throws -> Double {
    let database = try BenchmarkDatabase.make()
    defer { database.remove() }
    let fleet = try await Fleet(slots: 2048, store: database)
    defer { fleet.stop() }
    return try await fleet.withClient { api in
      _ = try await Throughput.rate(jobs: 1000, over: ["noop"], with: api)
      let session = try isHeld ? HeldSnapshot(database) : nil
      defer { session?.end() }
      let start = Date()
      var jobs = 0
      while -start.timeIntervalSinceNow < seconds {
        _ = try await Throughput.rate(jobs: 10_000, over: ["noop"], with: api)
        jobs += 10_000
      }
      return Double(jobs) / -start.timeIntervalSinceNow
    }
  }
}
