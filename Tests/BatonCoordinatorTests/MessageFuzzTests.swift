import BatonBase
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import ContractRows
import Foundation
import GRPCCore
import Logging
import SwiftProtobuf
import Testing

@testable import BatonCoordinator

/// Random messages, and real messages with changed bytes, go through the same decoding and the same coordinator as the
/// messages of honest peers. No message traps, and no message affects a launch of another host. The same seed makes
/// the same messages.
@Suite(.timeLimit(.minutes(10))) struct MessageFuzzTests {
  private static let identifier = "com.example.a"

  @Test(.refuses(25)) func `a frame has a bound of messages, and one more is refused with it`() throws {
    var frame = try #require(Framing.frames([WorkerMessage.heartbeat(number: 1)]).first)
    frame.messages = Array(repeating: frame.messages[0], count: WireLimits.frame.most)
    #expect(try WorkersService.messages(frame).count == WireLimits.frame.most)
    frame.messages.append(frame.messages[0])
    let error = #expect(throws: WireError.self) { try WorkersService.messages(frame) }
    #expect(error?.message.contains("the limit is \(WireLimits.frame.most)") == true)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `no message of a worker traps, or touches another host's launch`(seed: UInt64) async throws {
    var draw = ByteDraw(seed: seed)
    try await withLaunch { coordinator, launch, group in
      let before = try await coordinator.details(JobIdentifier(Self.identifier)!, number: nil)
      for round in 0..<40 {
        let connection = Connection()
        group.addTask { try await coordinator.serve(connection, from: "127.0.0.1:9") }
        if draw.chance(80) { connection.up.send(.hello(Desk.hello("stranger-\(round)", "s\(round)", slots: 0))) }
        for _ in 0..<12 {
          let bytes = draw.workerFrame(launch)
          guard let frame = try? Baton_V1_WorkerFrame(serializedBytes: bytes),
            let messages = try? WorkersService.messages(frame)
          else { continue }
          connection.up.send(contentsOf: messages)
        }
        // Everything that was sent is heard and stored before the connection ends.
        connection.up.close()
        while let messages = await connection.down.receive() {
          for case .items(let page) in messages { #expect(page.items.isEmpty) }
        }
      }
      let after = try await coordinator.details(JobIdentifier(Self.identifier)!, number: nil)
      #expect(after == before)
      #expect(try await coordinator.store.output(of: launch).isEmpty)
      #expect(try await !coordinator.store.fleet().isPaused)
      #expect(try await coordinator.hostReports().allSatisfy { $0.name.isWellFormed })
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `no hello traps, and what is taken is within its limits`(seed: UInt64) async throws {
    var draw = ByteDraw(seed: seed)
    try await withLaunch { coordinator, launch, group in
      for _ in 0..<120 {
        let honest: [UInt8] = try draw.hello(launch).serializedBytes()
        let bytes = draw.mutated(honest)
        guard let hello = try? Baton_V1_WorkerMessage(serializedBytes: bytes),
          let message = try? WorkerMessage(hello)
        else { continue }
        let connection = Connection()
        group.addTask { try await coordinator.serve(connection, from: "127.0.0.1:9") }
        connection.up.send(message)
        connection.up.close()
        while await connection.down.receive() != nil {}
      }
      for report in try await coordinator.hostReports() {
        #expect(report.name.isWellFormed)
        #expect(report.version.utf8.count <= WireLimits.version.most)
      }
      let details = try await coordinator.details(JobIdentifier(Self.identifier)!, number: nil)
      #expect(details.launches.map(\.outcome) == [nil])
      #expect(try await !coordinator.store.fleet().isPaused)
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `no request of an operator traps`(seed: UInt64) async throws {
    var draw = ByteDraw(seed: seed)
    try await withLaunch { coordinator, launch, _ in
      let service = OperatorsService(api: coordinator)
      let context = ServerContext(
        descriptor: MethodDescriptor(fullyQualifiedService: "baton.v1.Operators", method: "Fuzz"), remotePeer: "test",
        localPeer: "test", cancellation: .init())
      let calls = Self.calls(service, context)
      await Caller.$current.withValue(Caller(name: "ana")) {
        for round in 0..<calls.count * 16 { await calls[round % calls.count](draw.operatorRequest()) }
      }
      #expect(try await coordinator.store.launches(of: launch.request).map(\.outcome) == [nil])
      for record in try await coordinator.store.requests(RequestFilter(), after: nil, limit: 1000) {
        #expect(record.principal.utf8.count <= WireLimits.principal.most)
        #expect(record.principal.escaped == record.principal)
      }
    }
  }

  private typealias Call = (_ bytes: [UInt8]) async -> Void

  /// Every call of an operator but `Apply`, which `DefinitionFuzzTests` draws, and `Watch`, which answers a request as
  /// `Show` does and goes on until it ends. `Backup` and `MoveStore` have no store on disk to copy here.
  private static func calls(_ service: OperatorsService, _ context: ServerContext) -> [Call] {
    func call<Request: Message, Reply>(
      _ body: @escaping (OperatorsService) -> (Request, ServerContext) async throws -> Reply
    ) -> Call {
      { bytes in
        guard let request = try? Request(serializedBytes: bytes) else { return }
        _ = try? await body(service)(request, context)
      }
    }
    func stream<Request: Message, Reply: Sendable>(
      _ body: @escaping (OperatorsService) -> (Request, RPCWriter<Reply>, ServerContext) async throws -> Void
    ) -> Call {
      { bytes in
        guard let request = try? Request(serializedBytes: bytes) else { return }
        try? await body(service)(request, RPCWriter(wrapping: Deaf()), context)
      }
    }
    return [
      call(OperatorsService.submit), call(OperatorsService.submitFlow),
      call(OperatorsService.list), call(OperatorsService.show),
      call(OperatorsService.retry), call(OperatorsService.drain), call(OperatorsService.explain),
      call(OperatorsService.evict), call(OperatorsService.simulateConditions), call(OperatorsService.trace),
      call(OperatorsService.forgetHost), call(OperatorsService.inviteHost), call(OperatorsService.revokeHost),
      call(OperatorsService.fleet), call(OperatorsService.whoAmI), call(OperatorsService.createCredential),
      call(OperatorsService.credentials), call(OperatorsService.revokeCredential), call(OperatorsService.audit),
      call(OperatorsService.verifyAudit), call(OperatorsService.cancel), call(OperatorsService.remove),
      call(OperatorsService.pause), call(OperatorsService.redefine), call(OperatorsService.setSpread),
      call(OperatorsService.setPriority), call(OperatorsService.setLimit),
      call(OperatorsService.limits), call(OperatorsService.setSchedules), call(OperatorsService.backfill),
      call(OperatorsService.stopBackfill),
      call(OperatorsService.shards), call(OperatorsService.simulateLaunch),
      call(OperatorsService.simulateExpiry), call(OperatorsService.simulateTransfer),
      call(OperatorsService.notifications), call(OperatorsService.testReceiver),
      call(OperatorsService.transfers), call(OperatorsService.cancelTransfer),
      call(OperatorsService.hosts), call(OperatorsService.coordinators),
      call(OperatorsService.findHosts), call(OperatorsService.explainGroups), call(OperatorsService.forgetGoneHost),
      call(OperatorsService.prune), call(OperatorsService.queue), call(OperatorsService.ableHosts),
      stream(OperatorsService.hostHistory), stream(OperatorsService.versions),
      stream(OperatorsService.hostPages),
      stream(OperatorsService.explainPages), stream(OperatorsService.backup), stream(OperatorsService.moveStore),
      { bytes in
        guard var request = try? Baton_V1_LogsRequest(serializedBytes: bytes) else { return }
        // Following goes on until the request has ended, as a watch does.
        request.follow = false
        try? await service.logs(request: request, response: RPCWriter(wrapping: Deaf()), context: context)
      },
    ]
  }

  @Test(.refuses(25)) func `a place of a store is taken at its limit and refused over it`() async throws {
    try await withLaunch { coordinator, _, _ in
      let service = OperatorsService(api: coordinator)
      let context = ServerContext(
        descriptor: MethodDescriptor(fullyQualifiedService: "baton.v1.Operators", method: "MoveStore"),
        remotePeer: "test", localPeer: "test", cancellation: .init())
      let most = WireLimits.storePlace.most
      for (text, code) in [
        (String(repeating: "x", count: most), RPCError.Code.failedPrecondition),
        (String(repeating: "x", count: most + 1), .invalidArgument), ("", .invalidArgument),
        ("postgres://a\u{1B}b", .invalidArgument),
      ] {
        let error = await Caller.$current.withValue(Caller(name: "ana")) {
          await #expect(throws: RPCError.self) {
            try await service.moveStore(
              request: .with { $0.to = text }, response: RPCWriter(wrapping: Deaf()), context: context)
          }
        }
        #expect(error?.code == code, "\(text.prefix(20)): \(error as Any)")
      }
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `no report of a death traps`(seed: UInt64) async throws {
    var draw = ByteDraw(seed: seed)
    try await withLaunch { coordinator, launch, _ in
      let workers = WorkersService(coordinator: coordinator)
      let context = ServerContext(
        descriptor: MethodDescriptor(fullyQualifiedService: "baton.v1.Workers", method: "Fuzz"), remotePeer: "test",
        localPeer: "test", cancellation: .init())
      for _ in 0..<200 {
        let bytes = draw.operatorRequest()
        if let report = try? Baton_V1_DeathReport(serializedBytes: bytes) {
          _ = try? await workers.reportDeath(request: report, context: context)
        }
      }
      let launches = try await coordinator.store.launches(of: launch.request)
      #expect(launches.map(\.outcome) == [nil])
    }
  }

  /// A coordinator with one launch on host `a`.
  private func withLaunch(
    _ body: (Coordinator, LaunchKey, inout ThrowingTaskGroup<Void, any Error>) async throws -> Void
  ) async throws {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let coordinator = Coordinator(
      store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(leaseTerm: .seconds(1_000_000)), logger: logger)
    try await coordinator.restore()
    var definition = Definition(pattern: IdentifierPattern(Self.identifier)!, kind: .continued)
    definition.title = "Job"
    _ = try await coordinator.apply([definition])
    try await withThrowingTaskGroup(of: Void.self) { group in
      let owner = Connection()
      group.addTask { try await coordinator.serve(owner, from: "127.0.0.1:9") }
      var hello = Desk.hello("a", "a1")
      hello.capabilities.handlers = [IdentifierPattern("com.*")!]
      owner.up.send(.hello(hello))
      _ = await owner.down.receive()
      let order = SubmissionOrder(id: "one", identifier: JobIdentifier(Self.identifier)!)
      _ = try await coordinator.submit([order], by: "test")
      let launch = LaunchKey(request: RequestID(1), number: 1)
      #expect(try await coordinator.store.launches(of: launch.request).count == 1)
      try await body(coordinator, launch, &group)
      group.cancelAll()
    }
  }
}

/// Takes every answer, and keeps none.
private struct Deaf<Element: Sendable>: RPCWriterProtocol {
  func write(_ element: Element) async throws {}
  func write(contentsOf elements: some Sequence<Element>) async throws {}
}

/// Bytes of protobuf, drawn from a seed.
private struct ByteDraw {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }
  mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }
  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  private mutating func wide() -> Int64 {
    let drawn = Int64(bitPattern: next())
    return one(of: [0, 1, -1, .min, .max, 7, 1 << 31, 1 << 53, drawn])
  }
  private mutating func text() -> String {
    let long = String(repeating: "x", count: number(1...3000))
    return one(of: [
      "", "a", "com.example.a", "com.example.*", "\u{1B}[2J", "two\nlines", "..", "finished", "failed", "expired",
      "thermal",
      "background", "ac", "true", "99999999999999999999", long,
    ])
  }

  // MARK: Messages

  mutating func workerFrame(_ launch: LaunchKey) -> [UInt8] {
    var frame = Baton_V1_WorkerFrame()
    for _ in 0..<number(0...6) { frame.messages.append(workerMessage(launch)) }
    let bytes: [UInt8] = (try? frame.serializedBytes()) ?? []
    return chance(40) ? mutated(bytes) : bytes
  }

  /// Every field may be anything, and the launch is often the one of another host.
  private mutating func workerMessage(_ launch: LaunchKey) -> Baton_V1_WorkerMessage {
    var key = launch.proto
    if chance(20) { (key.request, key.number) = (wide(), Int32(truncatingIfNeeded: wide())) }
    var message = Baton_V1_WorkerMessage()
    switch number(0...10) {
    case 0: message.heartbeat = wide()
    case 1: message.conditions = conditions()
    case 2:
      let (start, items, isLast) = (wide(), (0..<number(0...5)).map { _ in text() }, chance(50))
      message.items = .with { ($0.launch, $0.start, $0.items, $0.isLast) = (key, start, items, isLast) }
    case 3:
      let (start, count) = (wide(), Int32(truncatingIfNeeded: wide()))
      message.itemsWanted = .with { ($0.launch, $0.start, $0.count) = (key, start, count) }
    case 4:
      let (batch, units, total, subtitle) = (wide(), wide(), wide(), text())
      message.checkpoint = .with {
        ($0.launch, $0.batch, $0.completedUnits, $0.totalUnits) = (key, batch, units, total)
        ($0.subtitle, $0.reachesEnd) = (subtitle, true)
      }
    case 5:
      let (title, units, total) = (text(), wide(), wide())
      message.update = .with { ($0.launch, $0.title, $0.completedUnits, $0.totalUnits) = (key, title, units, total) }
    case 6:
      message.output = .with {
        $0.launch = key
        $0.data = Data([1, 2, 3])
      }
    case 7:
      let (code, detail) = (text(), text())
      message.expiring = .with { ($0.launch, $0.code, $0.detail) = (key, code, detail) }
    case 8:
      let (outcome, word, result) = (text(), text(), text())
      message.ended = .with { ($0.launch, $0.outcome, $0.text, $0.result) = (key, outcome, word, result) }
    case 9: message.draining = Baton_V1_Empty()
    default: message = hello(launch)
    }
    return message
  }

  mutating func hello(_ launch: LaunchKey) -> Baton_V1_WorkerMessage {
    let host = chance(70) ? "host-\(number(0...9))" : text()
    let (incarnation, version, conditions) = (text(), text(), conditions())
    let (slots, allowance, sequence, tenure) = (Int32(truncatingIfNeeded: wide()), wide(), wide(), wide())
    let (pattern, store, gpus) = (text(), text(), (0..<number(0...80)).map { Int32($0) })
    let hasReceipt = chance(50)
    return .with {
      $0.hello = .with {
        ($0.host, $0.incarnation, $0.version, $0.conditions) = (host, incarnation, version, conditions)
        $0.capabilities = .with { ($0.slots, $0.dailyAllowance, $0.handlers) = (slots, allowance, [pattern]) }
        $0.running = [.with { ($0.launch, $0.gpus) = (launch.proto, gpus) }]
        if hasReceipt { $0.receipt = .with { ($0.store, $0.sequence, $0.tenure) = (store, sequence, tenure) } }
      }
    }
  }

  private mutating func conditions() -> Baton_V1_Conditions {
    func reading(_ draw: inout ByteDraw) -> Baton_V1_Reading {
      let (value, source, raw, age) = (draw.text(), draw.text(), draw.text(), draw.wide())
      return .with { ($0.value, $0.source, $0.raw, $0.age) = (value, source, raw, age) }
    }
    let readings = (0..<8).map { _ in reading(&self) }
    let (labels, memory, until, by) = ([text(): text()], wide(), wide(), text())
    return .with {
      ($0.power, $0.battery, $0.lowPowerMode, $0.thermal) = (readings[0], readings[1], readings[2], readings[3])
      ($0.network, $0.isIdle, $0.gpus, $0.labels) = (readings[4], readings[5], readings[6], readings[7])
      $0.labelValues = labels
      $0.gpuList = [.with { $0.memoryBytes = memory }]
      $0.owner = .with { ($0.until, $0.pausedBy) = (until, by) }
    }
  }

  mutating func operatorRequest() -> [UInt8] {
    let bytes: [UInt8]
    switch number(0...3) {
    case 0:
      let (id, name, principal) = (text(), text(), text())
      let (after, at, priority, poke) = (wide(), wide(), text(), Int32(truncatingIfNeeded: wide()))
      let request = Baton_V1_SubmitRequest.with {
        $0.principal = principal
        $0.items = [
          .with {
            ($0.id, $0.identifier, $0.earliestAfter, $0.earliestAt) = (id, name, after, at)
            ($0.priority, $0.poke) = (priority, poke)
          }
        ]
      }
      bytes = (try? request.serializedBytes()) ?? []
    case 1:
      let (name, number) = (text(), wide())
      bytes = (try? Baton_V1_ShowRequest.with { ($0.identifier, $0.number) = (name, number) }.serializedBytes()) ?? []
    case 2:
      var request = Baton_V1_ListRequest()
      (request.after, request.limit) = (wide(), Int32(truncatingIfNeeded: wide()))
      (request.newestFirst, request.takesShortPages) = (chance(50), chance(50))
      if chance(50) { request.states = [text()] }
      if chance(50) { request.pattern = text() }
      if chance(50) { request.kind = chance(80) ? "processing" : text() }
      if chance(50) { request.submitter = text() }
      bytes = (try? request.serializedBytes()) ?? []
    default: bytes = (0..<number(0...60)).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
    return chance(50) ? mutated(bytes) : bytes
  }

  /// With some bytes changed, left out or said twice.
  mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<number(1...4) where !bytes.isEmpty {
      let place = number(0...bytes.count - 1)
      switch number(0...3) {
      case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(UInt8(truncatingIfNeeded: next()), at: place)
      default: bytes.removeSubrange(place...)
      }
    }
    return bytes
  }
}
