import BatonBase
import BatonModel
import BatonProcess
import ContractRows
import FalseServer
import Foundation
import Synchronization
import Testing

@testable import BatonTransfers

/// Transfers whose process is killed and whose connections break at random bytes, on servers of every manner. The files
/// that arrive are byte for byte right, none is half under its final name, none is fetched from the beginning where it
/// could have gone on, and none is lost.
@Suite(.timeLimit(.minutes(20))) struct RestartTests {
  /// `BATON_TRANSFER_ROUNDS` asks for more rounds.
  static let rounds = UInt64(ProcessInfo.processInfo.environment["BATON_TRANSFER_ROUNDS"] ?? "") ?? 24

  @Test(.contract(37.1, 38.1), arguments: 0..<Self.rounds) func `nothing is lost, half or fetched again`(
    seed: UInt64
  ) async throws {
    let world = try await RestartWorld(seed: seed)
    await world.run()
    await world.stop()
    for problem in world.problems { Issue.record("seed \(seed): \(problem)") }
    #expect(world.kills > 0, "seed \(seed): no process was killed")
  }
}

/// A server with files, and the engines that fetch them.
private final class RestartWorld: Sendable {
  private struct Served {
    var file: FalseFile
    /// Every content that the file has had.
    var versions: [[UInt8]]
    /// The next request has to ask for this byte or a later one; 0 if it may begin at the beginning.
    var floor: Int64 = 0

    /// Whether the server lets a client go on where it stopped.
    var canResume: Bool { file.manner == .honest || file.manner == .dated }
  }

  private struct State {
    var random: SplitMix64
    var files: [String: Served] = [:]
    var troubles: Int
    var kills = 0
    var hasKill = false
    var problems: [String] = []
  }

  private let place: Workplace
  private let state: Mutex<State>
  private let transfers: [Transfer]
  private let server: FalseServer
  private let link = Link()
  /// The engine that runs.
  private let engine = Mutex<TransferEngine?>(nil)

  var problems: [String] { state.withLock { $0.problems } }
  var kills: Int { state.withLock { $0.kills } }

  init(seed: UInt64) async throws {
    place = try Workplace()
    var random = SplitMix64(seed: seed)
    var files: [String: Served] = [:]
    for index in 0..<Int.random(in: 1...4, using: &random) {
      let manner = FalseFile.Manner.allCases.randomElement(using: &random) ?? .honest
      // Half of the files are on an honest server: there nothing may be fetched again.
      let bytes = [UInt8].random(Int.random(in: 0...60_000, using: &random), &random)
      let file = FalseFile(bytes, Bool.random(using: &random) ? .honest : manner)
      files["/\(index)"] = Served(file: file, versions: [bytes])
    }
    state = Mutex(State(random: random, files: files, troubles: 12))
    let server = try await FalseServer { [link] request in
      link.world?.answer(request) ?? FalseAnswer(500, [("Content-Length", "0")])
    }
    self.server = server
    transfers = files.keys.sorted().map { path in
      var transfer = Transfer(url: server.origin + path, to: "f" + path.dropFirst())
      // A server that lies about the bytes of a part is found out by the hash only.
      if files[path]?.file.manner == .shifted { transfer.sha256 = files[path]?.versions[0].sha256 }
      return transfer
    }
    link.set(self)
  }

  func stop() async {
    await server.stop()
    link.set(nil)
  }

  // MARK: The server

  private func answer(_ request: FalseRequest) -> FalseAnswer {
    state.withLock { state in
      guard var served = state.files[request.path] else { return FalseAnswer(404, [("Content-Length", "0")]) }
      let start = request.rangeStart ?? 0
      if start < served.floor {
        state.problems.append("\(request.path) (\(served.file.manner)) from \(start), and not from \(served.floor)")
      }
      if state.troubles > 0, state.hasKill, state.random.next() % 8 == 0 {
        state.troubles -= 1
        return FalseAnswer(503, [("Content-Length", "0"), ("Retry-After", "7")])
      }
      if state.troubles > 0, served.file.manner == .honest || served.file.manner == .dated,
        state.random.next() % 8 == 0
      {
        change(&served, &state.random)
      }
      var answer = served.file.answer(to: request)
      served.floor = answer.status == 206 && served.canResume ? start : 0
      if state.troubles > 0, !state.hasKill || state.random.next() % 4 != 0 {
        state.troubles -= 1
        trouble(&answer, &state)
      }
      state.files[request.path] = served
      return answer
    }
  }

  private func change(_ served: inout Served, _ random: inout SplitMix64) {
    served.file.version += 1
    served.file.bytes = .random(Int.random(in: 0...60_000, using: &random), &random)
    served.versions.append(served.file.bytes)
  }

  private func trouble(_ answer: inout FalseAnswer, _ state: inout State) {
    let count = Int.random(in: 0...answer.body.count, using: &state.random)
    // In each world a process is killed at least once.
    let kind = state.hasKill ? state.random.next() % 4 : 2
    switch kind {
    case 0: answer.turn = (count, .reset)
    case 1 where count < answer.body.count: answer.turn = (count, .close)
    case 2:
      state.hasKill = true
      answer.turn = (count, .silence)
      answer.sent = { [weak self] in self?.kill(afterWrites: 0) }
    case _:
      let writes = Int.random(in: 1...6, using: &state.random)
      answer.sent = { [weak self] in self?.kill(afterWrites: writes) }
    }
  }

  /// Kills the process, or lets it write something before. An engine that was killed already dies no later.
  private func kill(afterWrites count: Int) {
    engine.withLock { $0 }?.journal.sever(afterWrites: count)
    place.stir()
  }

  // MARK: The host

  func run() async {
    for _ in 0..<100 {
      guard let engine = await start() else { return }
      await place.run(engine) { statuses in
        engine.journal.hasBeenSevered || (statuses.count == transfers.count && statuses.allSatisfy { $0.end != nil })
      }
      let isKilled = engine.journal.hasBeenSevered
      self.engine.withLock { $0 = nil }
      check()
      guard isKilled else {
        check(engine.statuses(after: nil, atMost: 100))
        return
      }
      state.withLock { $0.kills += 1 }
      engine.journal.letGo()
    }
    state.withLock { $0.problems.append("the transfers do not end") }
  }

  /// Starts a process on what the last one left. What that one had not synced is lost, or is something else.
  private func start() async -> TransferEngine? {
    do {
      try damage()
      let atOnce = state.withLock { Int.random(in: 1...3, using: &$0.random) }
      let engine = try place.engine { $0.atOnce = atOnce }
      expect(engine)
      self.engine.withLock { $0 = engine }
      let orders = transfers.enumerated().map { TransferOrder.carryOut(Samples.assignment($1, $0)) }
      let answers = engine.obey(orders)
      if !engine.journal.hasBeenSevered, answers.contains(where: { $0 != .taken }) {
        state.withLock { $0.problems.append("an order was not taken: \(answers)") }
      }
      return engine
    } catch {
      state.withLock { $0.problems.append("no process starts: \(error)") }
      return nil
    }
  }

  private func damage() throws {
    let journal = try TransferJournal(folder: place.path("transfers"))
    defer { journal.letGo() }
    for record in try journal.restore().records where record.end == nil {
      let (part, target) = (journal.part(of: record.assignment), journal.target(of: record.assignment))
      guard var bytes = SystemCall.contents(of: part, limit: 1 << 20), SystemCall.contents(of: target) == nil else {
        continue
      }
      if bytes.count < record.offset {
        state.withLock { $0.problems.append("the journal names \(record.offset) bytes of \(bytes.count)") }
      }
      state.withLock { state in
        let keep = Int.random(in: Int(record.offset)...max(bytes.count, Int(record.offset)), using: &state.random)
        for index in Int(record.offset)..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: state.random.next()) }
        bytes = Array(bytes.prefix(keep))
      }
      try SystemCall.write(bytes, to: part)
    }
  }

  /// From where the next request for each file has to go on.
  private func expect(_ engine: TransferEngine) {
    let records = engine.state.withLock { $0.core.lives.values.map(\.record) }
    state.withLock { state in
      for path in state.files.keys { state.files[path]?.floor = 0 }
      for record in records where record.canResume {
        guard let path = WebAddress(record.assignment.transfer.url)?.path else { continue }
        // A server that lies gives bytes of no use, which may be found out when they are all there.
        if state.files[path]?.canResume == true { state.files[path]?.floor = record.offset }
      }
    }
  }

  // MARK: What is there

  /// What has its final name is whole.
  private func check() {
    state.withLock { state in
      for (path, served) in state.files {
        guard let bytes = place.contents(ofTarget: "f" + path.dropFirst()), !served.versions.contains(bytes) else {
          continue
        }
        state.problems.append("\(path) (\(served.file.manner)) has \(bytes.count) wrong bytes under its name")
      }
    }
  }

  private func check(_ statuses: [TransferStatus]) {
    for status in statuses {
      let name = "f\(status.key.index)"
      guard let file = status.end?.file, let bytes = place.contents(ofTarget: name), bytes.sha256 == file.sha256 else {
        state.withLock { $0.problems.append("\(name) ended: \(status)") }
        continue
      }
    }
  }
}

/// Leads from a server to the world that is made after it.
private final class Link: Sendable {
  private let place = Mutex<RestartWorld?>(nil)

  var world: RestartWorld? { place.withLock { $0 } }
  func set(_ world: RestartWorld?) { place.withLock { $0 = world } }
}
