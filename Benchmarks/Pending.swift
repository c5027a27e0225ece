import BatonBase
import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Foundation

/// B5: the rate of B1 while a million requests are pending that cannot run, compared to the rate with a thousand
/// pending requests.
enum Pending {
  private static let jobs = 20_000

  static func measure(_ options: Options) async throws -> [Measurement] {
    let many = try await Backlog(options.isSmall ? 50_000 : 1_000_000)
    let few = try await Backlog(1000)
    defer {
      many.remove()
      few.remove()
    }
    note("  \(many.count) requests are pending")
    var rates: (many: [Double], few: [Double]) = ([], [])
    var (memory, firstLaunch) = (0.0, Double.infinity)
    for _ in 0..<options.rounds {
      rates.few.append(try await few.run(jobs).rate)
      let run = try await many.run(jobs)
      rates.many.append(run.rate)
      memory = max(memory, run.memory)
      firstLaunch = min(firstLaunch, run.firstLaunch)
    }
    return [
      Measurement(
        "B5 no-op jobs beside \(many.count) pending, against 1000", value: rates.many.median, unit: "jobs/s",
        limit: rates.few.median, target: 0.95),
      .bound("B5 memory of the coordinator, at most", memory, "MiB", atMost: 256),
      .bound("B5 from the coordinator's start to the first launch", firstLaunch, "s", atMost: 1),
    ]
  }
}

/// The data folder of a coordinator with pending requests that wait for a GPU, which no host has.
struct Backlog {
  let count: Int
  let data = Files.temporary()

  init(_ count: Int) async throws {
    self.count = count
    let store = try SQLiteStore.open(folder: data)
    var blocked = Fleet.definition("blocked.*")
    blocked.requirements.gpu = GPURequirement(count: 1)
    let definitions = [blocked, Fleet.definition("start")]
    let now = Moment(Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970) * 1_000_000_000))
    let applied = try await store.apply(definitions, seeds: definitions.map { _ in .new() }, at: now)
    for first in stride(from: 0, to: count, by: 1000) {
      let offers = (first..<min(first + 1000, count)).map { Self.offer("blocked.\($0)", applied[0].id) }
      _ = try await store.submit(offers, at: now)
    }
    try await store.close()
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
