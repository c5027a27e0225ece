import BatonModel
import BatonStore

/// The transfers of requests (contract, rows 37 to 40).
extension StoreConformance {
  static let transfers: [Case] = [
    Case("a request with transfers waits for them on the host that would have run it", rows: [39.1]) { s in
      let definition = try await s.define { $0.transfers = StoreScenario.files(["a", "b"]) }.id
      try await s.connect()
      let request = try await s.submit(to: definition).request
      let answer = try await s.claim(definition)
      try expect(answer.assignments, [], "launches before the files are there")
      try expect(answer.hasMore, false, "whether more is ready")
      try expect(try await s.record(request).waitsBecause, .waitsForTransfers, "why it waits")
      try expect(try await s.record(request).filesOn, StoreScenario.host, "the host of the files")
      let orders = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host] ?? []
      try expect(orders.count, 2, "orders")
      try expect(try await s.store.transferOrders(of: [HostName("beta")]), [:], "orders of another host")
      s.advance(.seconds(86_400))
      try expect(try await s.store.promote(at: s.now, limit: 10).classes, [:], "what time alone makes ready")
    },
    Case("when all transfers of a group have ended, errors included, one launch gets all of them", rows: [39.1]) { s in
      let (definition, request) = try await s.waiting(for: ["a", "b", "c"])
      try expect(try await s.transferEnds(request, 0).nextDue, NextDue(), "due after the first")
      try expect(
        try await s.transferEnds(request, 1, .failed(TransferFailure(.wrongHash, "no"))).nextDue, NextDue(),
        "after the second")
      try expect(try await s.claim(definition).assignments, [], "launches before the last has ended")
      try expect(try await s.transferEnds(request, 2).nextDue, s.now.due(.zero), "due after the last")
      try expect(try await s.store.promote(at: s.now, limit: 10).classes.count, 1, "classes that became ready")
      let answer = try await s.claim(definition, places: 3)
      try expect(answer.assignments.count, 1, "launches")
      let events = answer.assignments[0].transfers
      try expect(events.map(\.index), [0, 1, 2], "the events")
      try expect(events.map(\.isNew), [true, true, true], "which are new")
      try expect(events[1].end, .failed(TransferFailure(.wrongHash, "no")), "the error")
      try expect(events[2].end, .done(StoreScenario.file), "the file")
    },
    Case("a status that comes again changes nothing, and is to be forgotten") { s in
      let (_, request) = try await s.waiting(for: ["a"])
      let first = try await s.transferEnds(request, 0)
      try expect(first.orders, [.forget(TransferKey(request: request, index: 0))], "what the host is told")
      s.advance(.seconds(5))
      let again = try await s.transferEnds(request, 0, .cancelled)
      try expect(again.orders, first.orders, "what the host is told again")
      try expect(again.ended, [], "what has ended")
      try expect(again.nextDue, NextDue(), "due")
      let stored = try await s.store.transfers(on: nil, limit: 10)
      try expect(stored.first?.status?.state, .ended(.done(StoreScenario.file)), "the end that is kept")
    },
    Case("only the host that has the files gets the launch, and any host if they are shared", rows: [39.1]) { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      let elsewhere = try await s.claim(definition, on: HostName("beta"), Incarnation("beta-1"))
      try expect(elsewhere.assignments, [], "launches on a host without the files")
      try expect([elsewhere.hasMore, elsewhere.hasFitting], [true, false], "what is left")
      try expect(try await s.claim(definition).assignments.count, 1, "launches where the files are")

      let shared = try await s.define("shared") {
        $0.transfers = StoreScenario.files(["/mnt/a"]).map {
          var one = $0
          one.transfer.isShared = true
          return one
        }
      }.id
      let other = try await s.submit("shared", to: shared).request
      _ = try await s.claim(shared)
      try await s.transferEnds(other, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      let anywhere = try await s.claim(shared, on: HostName("beta"), Incarnation("beta-1"))
      try expect(anywhere.assignments.count, 1, "launches on another host")
    },
    Case("events are told again until a checkpoint of a launch that was told of them", rows: [38.2]) { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      let first = try await s.start(definition)
      try await s.end(first, .expired(.draining))
      let second = try require(try await s.claim(definition).assignments.first, "the second launch")
      try expect(second.transfers.map(\.isNew), [true], "told again")
      try await s.commit(second.launch, 0)
      try await s.end(second.launch, .expired(.draining))
      let third = try require(try await s.claim(definition).assignments.first, "the third launch")
      try expect(third.transfers.map(\.isNew), [false], "acknowledged by the checkpoint")
    },
    Case("files are released when the request has ended, and not before", rows: [38.2]) { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      let launch = try await s.start(definition)
      try await s.commit(launch, 0)
      try expect(try await s.store.transferOrders(of: [StoreScenario.host]), [:], "orders while it runs")
      try await s.end(launch)
      try expect(try await s.state(request), .succeeded, "the request")
      let orders = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host]
      try expect(orders, [.release(request)], "orders after its end")
      _ = try await s.store.prune(RetentionLimits(endedFor: .zero), at: s.now + .seconds(1))
      let kept = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host]
      try expect(kept, [.release(request)], "orders after the request was pruned")
      let report = TransferReport(released: [request])
      _ = try await s.store.noteTransfers(report, from: StoreScenario.worker, at: s.now)
      try expect(try await s.store.transferOrders(of: [StoreScenario.host]), [:], "orders after it was released")
    },
    Case(
      "a launch adds transfers with its checkpoint, and the request waits for them when it has succeeded", rows: [37.2]
    ) {
      s in
      let (definition, launch) = try await s.running()
      let added = StoreScenario.files(["a", "b"]).map(\.transfer)
      try await s.commit(launch, 0) { $0.transfers = added }
      try expect(
        try await s.commit(launch, 0) { $0.transfers = added }, .committed(batch: 0), "the checkpoint that comes again")
      let orders = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host] ?? []
      try expect(orders.count, 2, "orders")
      try await s.end(launch)
      let record = try await s.record(launch.request)
      try expect(record.state, .scheduled, "the request after its launch has succeeded")
      try expect(record.waitsBecause, .waitsForTransfers, "why")
      for index in 0..<2 { try await s.transferEnds(launch.request, index) }
      _ = try await s.store.promote(at: s.now, limit: 10)
      let second = try require(try await s.claim(definition).assignments.first, "the second launch")
      try expect(second.transfers.count, 2, "events")
      try await s.end(second.launch)
      try expect(try await s.state(launch.request), .succeeded, "the request in the end")
    },
    Case(
      "the delay before transfers launch a request again doubles, and begins again after a quiet time",
      rows: [40.1, 40.2, 40.3]
    ) {
      s in
      let (definition, request) = try await s.waiting(for: ["a"])
      var delays: [Duration] = []
      for index in 0..<6 {
        let due = try require(try await s.transferEnds(request, index).nextDue.steady, "when it is due")
        delays.append(due - s.now.steady)
        let shown = try await s.record(request).waitsBecause
        if delays[index] > .zero { try expect(shown, .transfersLimited(until: due), "what is shown") }
        s.advance(due - s.now.steady)
        _ = try await s.store.promote(at: s.now, limit: 10)
        let launch = try await s.start(definition)
        try await s.commit(launch, index) { $0.transfers = StoreScenario.files(["f\(index)"]).map(\.transfer) }
        try await s.end(launch)
        if index == 4 { s.advance(.seconds(900)) }
      }
      let wanted: [Duration] = [.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8), .zero]
      try expect(delays, wanted, "the delays")
    },
    Case("a hundred transfers of one group launch their request once", rows: [40.4]) { s in
      let names = (0..<100).map { "file\($0)" }
      let (definition, request) = try await s.waiting(for: names)
      var dues: [NextDue] = []
      for index in names.indices { dues.append(try await s.transferEnds(request, index).nextDue) }
      try expect(dues.filter { $0 != NextDue() }.count, 1, "times at which it became due")
      _ = try await s.store.promote(at: s.now, limit: 10)
      try expect(try await s.claim(definition).assignments.map(\.transfers.count), [100], "events of its launch")
    },
    Case("transfers of a request that is not known here, or of another host, are released") { s in
      let (_, request) = try await s.waiting(for: ["a"])
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      let beta = WorkerProcess(host: HostName("beta"), incarnation: Incarnation("beta-1"))
      let status = StoreScenario.status(TransferKey(request: request, index: 0), .ended(.done(StoreScenario.file)))
      let news = try await s.store.noteTransfers(TransferReport(statuses: [status]), from: beta, at: s.now)
      try expect(news.orders, [.release(request)], "what the other host is told")
      try expect(news.ended, [], "what has ended")
      let stranger = StoreScenario.status(TransferKey(request: RequestID(999), index: 0), .running)
      let other = try await s.store.noteTransfers(
        TransferReport(statuses: [stranger]), from: StoreScenario.worker, at: s.now)
      try expect(other.orders, [.release(RequestID(999))], "what is said of a stranger")
    },
    Case("when their host is forgotten, transfers fail, and their request is launched with these ends elsewhere") { s in
      let (definition, request) = try await s.waiting(for: ["a", "b"])
      try await s.transferEnds(request, 0)
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      try await s.endLease()
      let news = try await s.store.forgetHost(StoreScenario.host, at: s.now)
      try expect(news.ended.map(\.key.index), [1], "what has ended")
      try expect(news.nextDue, s.now.due(.zero), "due")
      _ = try await s.store.promote(at: s.now, limit: 10)
      let answer = try await s.claim(definition, on: HostName("beta"), Incarnation("beta-1"))
      let events = try require(answer.assignments.first, "a launch on another host").transfers
      try expect(events.map(\.end.failure), [.hostForgotten, .hostForgotten], "both ends")
      try expect(events.map(\.isNew), [true, true], "which are new")
      // A host of this name that comes back removes the files.
      try await s.connect(StoreScenario.host, Incarnation("alpha-2"))
      let status = StoreScenario.status(TransferKey(request: request, index: 1), .running)
      let back = WorkerProcess(host: StoreScenario.host, incarnation: Incarnation("alpha-2"))
      let orders = try await s.store.noteTransfers(TransferReport(statuses: [status]), from: back, at: s.now).orders
      try expect(orders, [.release(request)], "what the host is told that comes back")
    },
    Case("a file that a launch has worked with is lost with its host, and one that others can reach is not") { s in
      let definition = try await s.define {
        $0.transfers = StoreScenario.files(["a", "/mnt/b", "c"])
        $0.transfers?[1].transfer.isShared = true
        $0.transfers?[2].transfer = Transfer(url: "https://example.com/c", method: .put, file: "/c")
      }.id
      try await s.connect()
      let request = try await s.submit(to: definition).request
      _ = try await s.claim(definition)
      for index in 0..<3 { try await s.transferEnds(request, index) }
      _ = try await s.store.promote(at: s.now, limit: 10)
      let launch = try await s.start(definition)
      try await s.commit(launch, 0)
      try await s.end(launch, .expired(.draining))
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      try expect(
        try await s.claim(definition, on: HostName("beta"), Incarnation("beta-1")).assignments, [], "before")
      try await s.endLease()
      let limits = RetentionLimits(hostsFor: .seconds(100))
      s.advance(.seconds(101))
      let forgotten = try await s.store.forgetOld(limits, at: s.now)
      try expect(forgotten.hosts, [StoreScenario.host], "the hosts that are forgotten")
      try expect(forgotten.transfers.ended, [], "these had ended before")
      let answer = try await s.claim(definition, on: HostName("beta"), Incarnation("beta-1"))
      let events = try require(answer.assignments.first, "a launch on another host").transfers
      try expect(events.map(\.end.failure), [.hostForgotten, nil, nil], "the ends")
      try expect(events.map(\.isNew), [true, false, false], "which are new")
    },
    Case("ten hosts that claim together share the transfers of a hundred requests") { s in
      let definition = try await s.define("job.*") { $0.transfers = StoreScenario.files(["a"]) }.id
      for number in 0..<100 { try await s.submit("job.r\(number)", to: definition) }
      let hosts = (0..<10).map { HostName("host\($0)") }
      for host in hosts { try await s.connect(host, Incarnation("\(host)-1")) }
      for round in 1...10 {
        for host in hosts {
          let answer = try await s.claim(definition, on: host, Incarnation("\(host)-1"))
          try expect(answer.assignments, [], "launches")
          try expect(answer.hasPlaced, true, "whether \(host) got transfers in round \(round)")
          try expect(answer.hasFitting, answer.hasMore, "whether it could have more")
        }
      }
      let loads = try await s.store.transferLoads()
      try expect(loads, Dictionary(uniqueKeysWithValues: hosts.map { ($0, 10) }), "the requests of each host")
    },
    Case("a host is given transfers only as it has room, and launches with files go on meanwhile") { s in
      let definition = try await s.define("job.*") { $0.transfers = StoreScenario.files(["a", "b"]) }.id
      try await s.connect()
      var requests: [RequestID] = []
      for number in 0..<20 { requests.append(try await s.submit("job.r\(number)", to: definition).request) }
      let most = Policy.transferRequestsOnHost
      var answer = try await s.claim(definition, places: 3)
      try expect(try await s.store.transferLoads(), [StoreScenario.host: 3], "one request for each place")
      try expect([answer.hasPlaced, answer.hasMore, answer.hasFitting], [true, true, true], "the first answer")
      while answer.hasFitting { answer = try await s.claim(definition, places: 3) }
      try expect(try await s.store.transferLoads(), [StoreScenario.host: most], "what it has in the end")
      answer = try await s.claim(definition, places: 3)
      try expect([answer.hasPlaced, answer.hasMore, answer.hasFitting], [false, true, false], "a full host")
      answer = try await s.claim(definition, places: 0)
      try expect([answer.hasPlaced, answer.hasFitting], [false, false], "a claim without places")
      for index in 0..<2 { try await s.transferEnds(requests[5], index) }
      _ = try await s.store.promote(at: s.now, limit: 10)
      answer = try await s.claim(definition)
      try expect(answer.assignments.map(\.launch.request), [requests[5]], "the launch that has its files")
      try expect(answer.hasPlaced, true, "whether another request got transfers in its place")
      try expect(try await s.store.transferLoads(), [StoreScenario.host: most], "what the host has then")
    },
    Case("a host that has no room gets no transfers, and launches with the files that it has") { s in
      let definition = try await s.define("job.*") { $0.transfers = StoreScenario.files(["a"]) }.id
      try await s.connect()
      let first = try await s.submit("job.a", to: definition).request
      _ = try await s.claim(definition)
      try await s.submit("job.b", to: definition)
      try await s.transferEnds(first, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      let answer = try await s.claim(definition, places: 2, isOutOfRoom: true)
      try expect(answer.assignments.map(\.launch.request), [first], "launches")
      try expect([answer.hasPlaced, answer.hasMore, answer.hasFitting], [false, true, false], "what is left")
      try expect(try await s.claim(definition).hasPlaced, true, "when it has room")
    },
    Case("a person cancels a transfer, and its end is told like any other") { s in
      let (_, request) = try await s.waiting(for: ["a"])
      let key = TransferKey(request: request, index: 0)
      try await s.store.cancelTransfer(key)
      let orders = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host] ?? []
      try expect(orders.contains(.cancel(key)), "the host is told")
      try expect(try await s.transferEnds(request, 0, .cancelled).nextDue, s.now.due(.zero), "due")
      try await expectRefusal(.notFound, saying: ["baton transfers"]) {
        try await s.store.cancelTransfer(TransferKey(request: request, index: 7))
      }
      try await expectRefusal(.refused, saying: ["has ended"]) { try await s.store.cancelTransfer(key) }
    },
    Case("a request that is submitted again while it waits keeps its transfers") { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      let receipt = try await s.submit(to: definition)
      try expect(receipt.request, request, "the request")
      try expect(try await s.record(request).waitsBecause, .waitsForTransfers, "why it waits")
      try expect(try await s.claim(definition).assignments, [], "launches")
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      try expect(try await s.claim(definition).assignments.count, 1, "launches after the transfer")
    },
    Case("a request that is submitted again with a date waits for its transfers after the date too") { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      try await s.submit(to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      s.advance(.seconds(60))
      try expect(try await s.store.promote(at: s.now, limit: 10).classes, [:], "what the date makes ready")
      try expect(try await s.record(request).waitsBecause, .waitsForTransfers, "why it waits")
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      try expect(try await s.claim(definition).assignments.count, 1, "launches after the transfer")
    },
    Case("a shard adds no transfers") { s in
      let definition = try await s.define { definition in
        definition.work = Work(command: ["/bin/true"])
        definition.spread = Spread(lanes: 2, shards: 2)
      }.id
      try await s.connect()
      try await s.submit(to: definition)
      let launch = try await s.start(definition)
      let answer = try await s.commit(launch, 0) { checkpoint in
        checkpoint.transfers = [Transfer(url: "https://example.com/a", to: "a")]
      }
      guard case .refused(let text) = answer else { throw Violation(description: "not refused: \(answer)") }
      try expect(text.contains("a request with shards has no transfers"), text)
    },
    Case("a cancelled request releases its files, and a failed one that is retried fetches them again") { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      _ = try await s.store.cancel(.request(request), by: "ada", at: s.now)
      let orders = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host]
      try expect(orders, [.release(request)], "orders after it was cancelled")
      let second = try await s.submit(to: definition).request
      _ = try await s.claim(definition)
      try await s.transferEnds(second, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      for _ in 0..<2 {
        s.advance(.seconds(100))
        _ = try await s.store.promote(at: s.now, limit: 10)
        try await s.end(try await s.start(definition), .failed("no"))
      }
      try expect(try await s.state(second), .failed, "after its retries")
      _ = try await s.store.retry(second, skipping: .nothing, as: nil, at: s.now)
      _ = try await s.claim(definition)
      try expect(try await s.state(second), .scheduled, "while the host has the old files")
      _ = try await s.store.noteTransfers(
        TransferReport(released: [second]), from: StoreScenario.worker, at: s.now)
      s.advance(.seconds(2))
      _ = try await s.store.promote(at: s.now, limit: 10)
      _ = try await s.claim(definition)
      let again = try await s.store.transferOrders(of: [StoreScenario.host])[StoreScenario.host] ?? []
      try expect(
        again.contains { if case .carryOut(let order) = $0 { order.key.request == second } else { false } },
        "it is fetched again")
    },
  ]
}

extension TransferEnd {
  fileprivate var failure: TransferFailure.Code? { if case .failed(let failure) = self { failure.code } else { nil } }
}

extension StoreScenario {
  static let file = TransferredFile(path: "/files/a", bytes: 3, sha256: String(repeating: "a", count: 64))

  static func files(_ names: [String]) -> [DefinedTransfer] {
    names.map { DefinedTransfer(Transfer(url: "https://example.com/\($0)", to: $0)) }
  }

  static func status(_ key: TransferKey, _ state: TransferState) -> TransferStatus {
    TransferStatus(key: key, state: state, orderedAt: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
  }

  /// A request of the scenario's host that waits for these files.
  mutating func waiting(for names: [String]) async throws -> (definition: DefinitionID, request: RequestID) {
    let definition = try await define { $0.transfers = Self.files(names) }.id
    try await connect()
    let request = try await submit(to: definition).request
    try expect(try await claim(definition).assignments, [], "launches before the files are there")
    return (definition, request)
  }

  /// The scenario's host says how a transfer has ended.
  @discardableResult
  func transferEnds(
    _ request: RequestID, _ index: Int, _ end: TransferEnd = .done(file)
  ) async throws -> TransferNews {
    let status = Self.status(TransferKey(request: request, index: index), .ended(end))
    return try await store.noteTransfers(TransferReport(statuses: [status]), from: Self.worker, at: now)
  }
}
