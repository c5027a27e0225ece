import BatonBase
import BatonModel
import BatonProtobuf
import BatonWire
import ContractRows
import Foundation
import GRDB
import GRPCCore
import HostileDefinitions
import Logging
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// Definitions that would kill, stall or deceive a coordinator are refused where they arrive, and set aside where an
/// older version stored them.
@Suite(.timeLimit(.minutes(10))) struct HostileDefinitionTests {
  private static let now = Now(
    instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
  private let neighbour = JobIdentifier("com.example.neighbour")!

  private func coordinator(_ store: SQLiteStore) -> Coordinator {
    let clocks = Clocks(now: { Self.now }, sleep: { _ in try await Task.sleep(for: .seconds(1_000_000)) })
    return Coordinator(
      store: store, settings: CoordinatorSettings(), clocks: clocks,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  private func valid(_ pattern: String) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: .processing)
    definition.work = Work(command: ["true"])
    return definition
  }

  // MARK: Arriving

  /// As the gRPC server calls it: bytes in, a status out.
  private func apply(_ json: String, to coordinator: Coordinator) async throws -> Baton_V1_ApplyReply {
    var request = Baton_V1_ApplyRequest()
    request.definitions = [Data(json.utf8)]
    let descriptor = MethodDescriptor(fullyQualifiedService: "baton.v1.Operators", method: "Apply")
    return try await withServerContextRPCCancellationHandle { [request] handle in
      try await Caller.$current.withValue(Caller(name: "ana")) {
        try await OperatorsService(api: coordinator).apply(
          request: request,
          context: ServerContext(descriptor: descriptor, remotePeer: "test", localPeer: "test", cancellation: handle))
      }
    }
  }

  @Test(.refuses(24))
  func `every hostile definition is answered INVALID_ARGUMENT with its field, and nothing is stored`()
    async throws
  {
    #expect(HostileDefinition.all.count >= 34)
    let store = try SQLiteStore.inMemory()
    let coordinator = coordinator(store)
    try await coordinator.restore()
    _ = try await coordinator.apply([valid(neighbour.rawValue)])
    for hostile in HostileDefinition.all {
      let error = await #expect(throws: RPCError.self, "\(hostile)") { try await apply(hostile.json, to: coordinator) }
      #expect(error?.code == .invalidArgument, "\(hostile)")
      let message = error?.message ?? ""
      #expect(message.contains(hostile.field.isEmpty ? "64 KiB" : "'\(hostile.field)'"), "\(hostile): \(message)")
      #expect(message.utf8.count < 1_000 && Line.isAllowed(message), "\(hostile): \(message)")
    }
    #expect(try await store.definitions().map(\.definition) == [valid(neighbour.rawValue)])
    #expect(try await store.read { try $0.definitionRows() } == 1)
    try await expectNeighbourIsTaken(coordinator)
  }

  @Test(.refuses(24)) func `a definition that a program hands over in this process meets the same rules`() async throws
  {
    let coordinator = coordinator(try SQLiteStore.inMemory())
    try await coordinator.restore()
    for hostile in HostileDefinition.all {
      // Some are no value at all.
      guard let definition = try? JSONDecoder().decode(Definition.self, from: Data(hostile.json.utf8)) else { continue }
      let error = await #expect(throws: OperatorError.self, "\(hostile)") {
        try await coordinator.apply([valid("com.example.other"), definition])
      }
      guard case .invalid? = error else {
        Issue.record("\(hostile): \(String(describing: error))")
        continue
      }
    }
    #expect(try await coordinator.store.definitions() == [])
  }

  private func expectNeighbourIsTaken(_ coordinator: Coordinator) async throws {
    let submission = Submission(id: "neighbour", identifier: neighbour, trace: Desk.trace)
    guard case .accepted(let receipt, _, _, _)? = try await coordinator.submit([submission]).first else {
      Issue.record("the neighbour is not taken")
      return
    }
    #expect(receipt.state == .ready)
  }

  // MARK: Restored

  /// A store in which each definition of the list has a request that waits for its time, a request that is ready and a
  /// request that runs, beside a neighbour: as a coordinator that looked at nothing would have left it.
  private func storeWithHostileDefinitions() async throws -> SQLiteStore {
    let store = try SQLiteStore.inMemory(queuesSpans: true)
    let (host, process, now) = (HostName("a"), Incarnation("a1"), Self.now.moment)
    let lease = try await store.grantLease(host, process, report: nil, at: now).lease
    for (index, hostile) in HostileDefinition.all.enumerated() {
      let definition = valid("hostile.h\(index).*")
      let id = try await store.apply([definition], seeds: [Desk.trace], at: now)[0].id
      for name in ["runs", "ready", "later"] {
        let submission = Submission(
          id: "\(index) \(name)", identifier: JobIdentifier("hostile.h\(index).\(name)")!,
          earliestBeginDate: name == "later" ? .afterSubmission(.seconds(3600)) : nil, trace: Desk.trace)
        let offer = SubmissionOffer.Offer(lease: lease, gpus: [], spanID: Desk.trace.spanID)
        _ = try await store.submit(
          [SubmissionOffer(submission: submission, definition: id, host: name == "runs" ? offer : nil)], at: now)
      }
      try await store.write(.ordinary) { try $0.overwrite(id, with: hostile.json) }
    }
    _ = try await store.apply([valid(neighbour.rawValue)], seeds: [Desk.trace], at: now)
    return store
  }

  @Test(.refuses(26))
  func `what an older version stored is set aside, its requests fail with the reason, and the rest is served`()
    async throws
  {
    let store = try await storeWithHostileDefinitions()
    let coordinator = coordinator(store)
    try await coordinator.restore()
    for (index, hostile) in HostileDefinition.all.enumerated() {
      for name in ["runs", "ready", "later"] {
        let identifier = JobIdentifier("hostile.h\(index).\(name)")!
        let record = try #require(try await store.request(identifier, number: nil))
        #expect(record.state == .failed, "\(hostile): \(identifier)")
        let expected = hostile.field.isEmpty ? "64 KiB" : "'\(hostile.field)'"
        #expect(record.reason?.contains(expected) == true, "\(hostile): \(record.reason ?? "no reason")")
      }
    }
    #expect(try await store.read { try $0.unfinishedRows() } == 0)
    let counts = try await store.counts()
    #expect(counts.allSatisfy { $0.state == .failed })
    #expect(counts.reduce(0) { $0 + $1.count } == HostileDefinition.all.count * 3)
    #expect(try await store.fleet().running.isEmpty)
    #expect(try await store.fleet().readyClasses.isEmpty)
    #expect(try await !store.unsentSpans(limit: 1000).isEmpty)
    try await expectNeighbourIsTaken(coordinator)
    // A second start finds nothing to do.
    #expect(try await store.failUnusable(limit: 10, at: Self.now.moment) == [])
  }

  @Test(.refuses(26))
  func `nothing more of a definition that was set aside is submitted or tried again, until it is repaired`()
    async throws
  {
    let store = try await storeWithHostileDefinitions()
    let coordinator = coordinator(store)
    try await coordinator.restore()
    for (index, hostile) in HostileDefinition.all.enumerated() {
      let record = try #require(try await store.request(JobIdentifier("hostile.h\(index).runs")!, number: nil))
      for skipping in [false, true] {
        let error = await #expect(throws: StoreError.self, "\(hostile)") {
          try await store.retry(record.id, skipping: skipping ? .nextBatch : .nothing, at: Self.now.moment)
        }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("cannot be run") == true, "\(hostile): \(error?.message ?? "")")
      }
      let submission = Submission(
        id: "new \(index)", identifier: JobIdentifier("hostile.h\(index).new")!, trace: Desk.trace)
      guard case .refused(.unusable)? = try await coordinator.submit([submission]).first else {
        Issue.record("\(hostile): a request was taken")
        continue
      }
    }
    _ = try await coordinator.apply([valid("hostile.h0.*")])
    let submission = Submission(id: "repaired", identifier: JobIdentifier("hostile.h0.new")!, trace: Desk.trace)
    guard case .accepted? = try await coordinator.submit([submission]).first else {
      Issue.record("the repaired definition is not taken")
      return
    }
  }

  @Test(.refuses(26))
  func `a request that waits for one whose definition was set aside is released when that one fails`()
    async throws
  {
    let store = try SQLiteStore.inMemory()
    let (process, now) = (WorkerProcess(host: HostName("a"), incarnation: Incarnation("a1")), Self.now.moment)
    let lease = try await store.grantLease(process.host, process.incarnation, report: nil, at: now).lease
    let identifier = JobIdentifier("hostile.first")!
    let old = try await store.apply([valid(identifier.rawValue)], seeds: [Desk.trace], at: now)[0].id
    let place = SubmissionOffer.Offer(lease: lease, gpus: [], spanID: Desk.trace.spanID)
    let first = Submission(id: "first", identifier: identifier, trace: Desk.trace)
    let offers = [SubmissionOffer(submission: first, definition: old, host: place)]
    guard case .accepted(_, _, let launch?, _)? = try await store.submit(offers, at: now).first else {
      Issue.record("it did not start")
      return
    }
    // It goes on later, and until then it is the live one.
    let ending = Ending(launch: launch.launch, outcome: .expired(.draining))
    _ = try await store.end([ending], from: process, at: now)
    var repaired = valid(identifier.rawValue)
    repaired.title = "Repaired"
    let new = try await store.apply([repaired], seeds: [Desk.trace], at: now)[0].id
    let second = Submission(id: "second", identifier: identifier, trace: Desk.trace)
    _ = try await store.submit([SubmissionOffer(submission: second, definition: new)], at: now)
    let hostile = try #require(HostileDefinition.all.first)
    try await store.write(.ordinary) { try $0.overwrite(old, with: hostile.json) }
    #expect(try await store.request(identifier, number: 2)?.state == .scheduled)
    #expect(try await store.failUnusable(limit: 10, at: now).map(\.failedRequests) == [1])
    #expect(try await store.request(identifier, number: 1)?.state == .failed)
    #expect(try await store.request(identifier, number: 2)?.state == .ready)
  }

  @Test func `requests are failed in steps, so that no transaction is long`() async throws {
    let store = try await storeWithHostileDefinitions()
    let all = HostileDefinition.all.count * 3
    var failed = 0
    while true {
      let step = try await store.failUnusable(limit: 50, at: Self.now.moment).reduce(0) { $0 + $1.failedRequests }
      #expect(step <= 50)
      failed += step
      if step < 50 { break }
    }
    #expect(failed == all)
  }

  // MARK: Options

  @Test func `a match that would become an option of the command is refused, unless the command ends its options`()
    async throws
  {
    let coordinator = coordinator(try SQLiteStore.inMemory())
    try await coordinator.restore()
    func words(_ pattern: String, _ words: [String]) -> Definition {
      var definition = valid(pattern)
      definition.work = Work(command: words)
      return definition
    }
    _ = try await coordinator.apply([
      words("bare.*", ["rm", "${wildcard}"]), words("ended.*", ["rm", "--", "${wildcard}"]),
      words("named.*", ["rm", "--name=${wildcard}"]), words("program.*", ["${wildcard}"]),
      words("late.*", ["rm", "${wildcard}", "--"]),
    ])
    func isTaken(_ name: String) async throws -> Bool {
      let submission = Submission(id: name, identifier: JobIdentifier(name)!, trace: Desk.trace)
      let answer = try await coordinator.submit([submission]).first
      if case .refused(let refusal)? = answer {
        #expect(refusal.code == "notPermitted")
        #expect(refusal.message.contains("write \"--\" before ${wildcard}"))
        return false
      }
      return true
    }
    for name in ["bare.-rf", "bare.--version", "program.-x", "late.-rf"] {
      #expect(try await !isTaken(name), "\(name)")
    }
    for name in ["bare.rf", "bare.a.-rf", "ended.-rf", "named.-rf"] { #expect(try await isTaken(name), "\(name)") }
  }
}

extension Verbs {
  /// As a version would that looks at nothing.
  fileprivate func overwrite(_ id: DefinitionID, with json: String) throws {
    try db.execute(sql: "UPDATE definition SET content = ? WHERE id = ?", arguments: [json, id.rawValue])
    try flush()
    forget()
  }

  fileprivate func unfinishedRows() throws -> Int {
    try Int.fetchOne(db, sql: "SELECT count(*) FROM request WHERE state <= 2") ?? 0
  }

  fileprivate func definitionRows() throws -> Int {
    try Int.fetchOne(db, sql: "SELECT count(*) FROM definition") ?? 0
  }
}
