import BatonBase
import BatonCoordinator
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import Foundation
import GRPCCore
import SwiftProtobuf

/// B21: what operators read of a fleet of 10,000 hosts with labels at their limit, and a million pending requests: how
/// long each call takes, how large its messages are, and what four clients that explain all the time do to submissions.
enum FleetReading {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let backlog = try await Backlog(options.isSmall ? 50_000 : 1_000_000)
    defer { backlog.remove() }
    let hosts = options.isSmall ? 1_000 : 10_000
    try await addHosts(hosts, to: backlog.data)
    note("  \(hosts) hosts, \(backlog.count) requests are pending")
    let fleet = try await Fleet(slots: 8, data: backlog.data)
    defer { fleet.stop() }
    let rounds = options.rounds
    let calls = try await raw(fleet.port) { try await Calls($0, $1, last: backlog.count - 1).times(rounds) }
    let slowest = calls.map { call in
      Measurement.bound("B21 \(call.name), until its last message", call.seconds * 1000, "ms", atMost: 100)
    }
    let largest = calls.map(\.largestMessage).max() ?? 0
    let (alone, beside) = try await submissions(options.isSmall ? 200 : 1000, fleet.port)
    return slowest + [
      .bound("B21 largest message", Double(largest) / 1024, "KiB", atMost: 1024),
      Measurement(
        "B21 submission beside four clients that explain, p99", value: beside.percentile(0.99) * 1000, unit: "ms",
        limit: alone.percentile(0.99) * 1000, target: 2, isAtMost: true),
    ]
  }

  /// Hosts that were there and are gone, each with 30 labels of 60 bytes. They are explained by their last reports.
  static func addHosts(_ count: Int, to data: String) async throws {
    let store = try SQLiteStore.open(folder: data)
    let now = Moment(Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970) * 1_000_000_000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        if index >= 64 { try await group.next() }
        group.addTask {
          let name = HostName("crowd-\(index)")
          let grant = try await store.grantLease(
            name, Incarnation("bench"), link: 1, secret: nil, report: word(index), at: now)
          _ = try await store.endLease(grant.lease, countsAsLoss: false, at: now)
        }
      }
      try await group.waitForAll()
    }
    try await store.close()
  }

  private static func word(_ index: Int) -> HostWord {
    var conditions = Conditions.assumed
    conditions.power = Reading(index % 2 == 0 ? .battery : .external, source: "sysfs", raw: "AC online=0")
    let labels = (0..<30).map { ("label-\($0)", String(repeating: "x", count: 60)) }
    conditions.labels = Reading(Dictionary(uniqueKeysWithValues: labels), source: "worker.yaml")
    return HostWord(
      version: "1", capabilities: Capabilities(slots: 4, kinds: [.processing]), conditions: conditions)
  }

  private static func raw<Result: Sendable>(
    _ port: Int,
    _ body:
      @escaping @Sendable (Baton_V1_Operators.Client<CoordinatorClient.Transport>, Metadata) async throws -> Result
  ) async throws -> Result {
    try await CoordinatorClient.withLoopClient(HostPort(host: "127.0.0.1", port: port), tokenFile: nil) {
      try await body(Baton_V1_Operators.Client(wrapping: $0), $1)
    }
  }

  /// The times in seconds of submissions one after the other: alone, and beside four clients that explain.
  private static func submissions(_ count: Int, _ port: Int) async throws -> (alone: [Double], beside: [Double]) {
    let alone = try await Fleet.withOwnClient(port: port) { try await times(count, "alone", $0) }
    let beside = try await withThrowingTaskGroup(of: [Double]?.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await Fleet.withOwnClient(port: port) { api in
            let identifier = JobIdentifier(Fleet.prefix + "blocked.0")!
            while !Task.isCancelled { _ = try await api.explain(identifier, number: nil, groupingBeyond: 8) }
          }
          return nil
        }
      }
      group.addTask { try await Fleet.withOwnClient(port: port) { try await times(count, "beside", $0) } }
      defer { group.cancelAll() }
      while let result = try await group.next() { if let result { return result } }
      return []
    }
    return (alone, beside)
  }

  private static func times(_ count: Int, _ name: String, _ api: any OperatorAPI) async throws -> [Double] {
    var times: [Double] = []
    for index in 0..<count {
      let start = SystemClocks.instant()
      try await Fleet.submit([Fleet.order("blocked.\(name)-\(index)", id: "\(name)-\(index)")], to: api)
      times.append((SystemClocks.instant() - start).inSeconds)
    }
    return times
  }
}

/// The reading calls of operators, with their messages as they are on the wire.
private struct Calls: Sendable {
  struct Result: Sendable {
    var name: String
    /// The median, from the call to its last message.
    var seconds: Double
    var largestMessage: Int
  }

  private let operators: Baton_V1_Operators.Client<CoordinatorClient.Transport>
  private let metadata: Metadata
  private let job: Baton_V1_ShowRequest

  /// - Parameter last: the number of the request that was submitted last, which has all others before it.
  init(_ operators: Baton_V1_Operators.Client<CoordinatorClient.Transport>, _ metadata: Metadata, last: Int) {
    (self.operators, self.metadata) = (operators, metadata)
    job = .with { $0.identifier = Fleet.prefix + "blocked.\(last)" }
  }

  func times(_ rounds: Int) async throws -> [Result] {
    var results: [Result] = []
    for (name, call) in all {
      var (seconds, largest): ([Double], Int) = ([], 0)
      for _ in 0..<rounds {
        let start = SystemClocks.instant()
        largest = max(largest, try await call().max() ?? 0)
        seconds.append((SystemClocks.instant() - start).inSeconds)
      }
      results.append(Result(name: name, seconds: seconds.median, largestMessage: largest))
    }
    return results
  }

  /// Each call answers with the sizes of its messages.
  private typealias Call = @Sendable () async throws -> [Int]

  private var all: [(String, Call)] {
    let (operators, metadata, options, job) = (operators, metadata, CoordinatorClient.callOptions, job)
    return [
      (
        "list of the 50 newest",
        {
          let request = Baton_V1_ListRequest.with { ($0.limit, $0.newestFirst) = (50, true) }
          return try [await operators.list(request, metadata: metadata, options: options).size]
        }
      ),
      ("show of the last one", { try [await operators.show(job, metadata: metadata, options: options).size] }),
      ("explain by groups", { try [await operators.explainGroups(job, metadata: metadata, options: options).size] }),
      (
        "explain of each host",
        { try await operators.explainPages(job, metadata: metadata, options: options) { try await sizes($0) } }
      ),
      (
        "a page of 100 hosts",
        {
          let request = Baton_V1_FindHostsRequest.with { $0.limit = 100 }
          return try [await operators.findHosts(request, metadata: metadata, options: options).size]
        }
      ),
      (
        "the largest page of hosts",
        {
          let request = Baton_V1_FindHostsRequest.with { $0.limit = 1000 }
          return try [await operators.findHosts(request, metadata: metadata, options: options).size]
        }
      ),
      ("queue", { try [await operators.queue(Baton_V1_Empty(), metadata: metadata, options: options).size] }),
      (
        "definitions",
        {
          try await operators.definitions(Baton_V1_DefinitionsRequest(), metadata: metadata, options: options) {
            try await sizes($0)
          }
        }
      ),
      (
        "history of a host",
        {
          let request = Baton_V1_HostHistoryRequest.with { ($0.host, $0.limit) = ("crowd-0", 2000) }
          return try await operators.hostHistory(request, metadata: metadata, options: options) {
            try await sizes($0)
          }
        }
      ),
      ("standing", { try [await operators.standing(Baton_V1_Empty(), metadata: metadata, options: options).size] }),
    ]
  }
}

private func sizes<Reply: Message>(_ response: StreamingClientResponse<Reply>) async throws -> [Int] {
  var sizes: [Int] = []
  for try await reply in response.messages { sizes.append(try reply.size) }
  return sizes
}

extension Message {
  fileprivate var size: Int {
    get throws { (try serializedBytes() as [UInt8]).count }
  }
}
