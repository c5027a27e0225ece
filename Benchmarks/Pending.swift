import BatonBase
import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation

/// B5: the rate of B1 while a million requests are pending that cannot run, compared to the rate with a thousand
/// pending requests. The same with a million requests in flows of four, three of which wait for others.
enum Pending {
  private static let jobs = 20_000

  static func measure(_ options: Options) async throws -> [Measurement] {
    let count = options.pending ?? (options.isSmall ? 50_000 : 1_000_000)
    let many = try await Backlog(count)
    let few = try await Backlog(1000)
    let flows = try await Backlog(count, inFlows: true)
    defer {
      many.remove()
      few.remove()
      flows.remove()
    }
    note("  \(many.count) requests are pending, and \(flows.count) in flows")
    var rates: (many: [Double], few: [Double], flows: [Double]) = ([], [], [])
    var (memory, firstLaunch) = (0.0, Double.infinity)
    for _ in 0..<options.rounds {
      rates.few.append(try await few.run(jobs).rate)
      let run = try await many.run(jobs)
      rates.many.append(run.rate)
      let besideFlows = try await flows.run(jobs)
      rates.flows.append(besideFlows.rate)
      memory = max(memory, run.memory, besideFlows.memory)
      firstLaunch = min(firstLaunch, run.firstLaunch)
    }
    return [
      Measurement(
        "B5 no-op jobs beside \(many.count) pending, against 1000", value: rates.many.median, unit: "jobs/s",
        limit: rates.few.median, target: 0.95),
      Measurement(
        "B5 the same beside \(flows.count) in flows, three of four wait for others", value: rates.flows.median,
        unit: "jobs/s", limit: rates.few.median, target: 0.95),
      .bound("B5 memory of the coordinator, at most", memory, "MiB", atMost: 256),
      .bound("B5 from the coordinator's start to the first launch", firstLaunch, "s", atMost: 1),
    ]
  }
}

/// The data folder of a coordinator with pending requests that wait for a GPU, which no host has, or for other
/// requests.
struct Backlog {
  let count: Int
  let data = Files.temporary()

  /// - Parameter inFlows: whether the requests are in flows of four, three of which wait for others.
  init(_ count: Int, inFlows: Bool = false) async throws {
    self.count = count
    let store = try SQLiteStore.open(folder: data)
    var blocked = Fleet.definition("blocked.*")
    blocked.requirements.gpu = GPURequirement(count: 1)
    let definitions = [
      blocked, Fleet.definition("start"), Self.definition("left.*", after: ["blocked"]),
      Self.definition("right.*", after: ["blocked"]), Self.definition("report.*", after: ["left", "right"]),
    ]
    let now = Moment(Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970) * 1_000_000_000))
    let applied = try await store.apply(definitions, seeds: definitions.map { _ in .new() }, at: now)
    if inFlows {
      let members = zip(["blocked", "left", "right", "report"], [0, 2, 3, 4].map { applied[$0].id })
      try await Self.submitFlows(count / 4, of: Array(members), to: store, at: now)
      try await store.close()
      return
    }
    for first in stride(from: 0, to: count, by: 1000) {
      let offers = (first..<min(first + 1000, count)).map { Self.offer("blocked.\($0)", applied[0].id) }
      _ = try await store.submit(offers, at: now)
    }
    try await store.close()
  }

  private static func definition(_ name: String, after awaited: [String]) -> Definition {
    var definition = Fleet.definition(name)
    definition.after = awaited.map { Dependency(JobReference(Fleet.prefix + $0 + ".${wildcard}")!) }
    return definition
  }

  /// Submits flows, many at a time, so that one commit has many of them.
  private static func submitFlows(
    _ count: Int, of members: [(String, DefinitionID)], to store: SQLiteStore, at now: Moment
  ) async throws {
    for first in stride(from: 0, to: count, by: 500) {
      try await withThrowingDiscardingTaskGroup { group in
        for flow in first..<min(first + 500, count) {
          group.addTask {
            let offers = members.map { offer("\($0.0).\(flow)", $0.1) }
            _ = try await store.submitFlow(offers, at: now)
          }
        }
      }
    }
  }

  private static func offer(_ name: String, _ definition: DefinitionID) -> SubmissionOffer {
    let identifier = JobIdentifier(Fleet.prefix + name)!
    return SubmissionOffer(
      submission: Submission(id: name, identifier: identifier, trace: .new()), definition: definition)
  }

  func remove() { try? FileManager.default.removeItem(atPath: data) }

  /// The results of one run.
  struct Run {
    var rate: Double
    /// The largest resident memory of the coordinator, in MiB.
    var memory: Double
    /// The time from the start of the coordinator's process to the start of a handler, in seconds.
    var firstLaunch: Double
  }

  func run(_ jobs: Int) async throws -> Run {
    try await leaveOneReady()
    let start = SystemClocks.instant()
    let fleet = try await Fleet(slots: 2048, data: data)
    defer { fleet.stop() }
    let line = await fleet.nextLine { $0.hasPrefix("start ") }
    let begun = Instant(nanoseconds: line.split(separator: " ").last.flatMap { Int64($0) } ?? .max)
    let rate = try await fleet.withClient { try await Throughput.rate(jobs: jobs, over: ["noop"], with: $0) }
    return Run(rate: rate, memory: fleet.coordinator.mebibytes("VmHWM"), firstLaunch: (begun - start).inSeconds)
  }

  /// Submits one request, after all the others, that the next coordinator can start at once.
  private func leaveOneReady() async throws {
    let store = try SQLiteStore.open(folder: data)
    let name = IdentifierPattern(Fleet.prefix + "start")!
    guard let definition = try await store.definitions().first(where: { $0.definition.pattern == name }) else {
      throw CocoaError(.fileReadUnknown)
    }
    var offer = Self.offer("start", definition.id)
    offer.submission.id = UUID().uuidString
    _ = try await store.submit([offer], at: Moment(Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))))
    try await store.close()
  }
}
