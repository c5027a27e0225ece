import BatonBase
import BatonModel
import BatonProcess
import ContractRows
import FalseServer
import Foundation
import Synchronization
import Testing

@testable import BatonTransfers

/// What survives the end of the transfers' process.
@Suite(.timeLimit(.minutes(5))) struct JournalTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  /// Ends an engine as SIGKILL does.
  private func kill(_ engine: TransferEngine) {
    engine.journal.sever()
    engine.journal.letGo()
  }

  @Test func `orders, cancellations and releases survive`() async throws {
    let offline = TransferConditions(network: .unavailable)
    let first = try place.engine(conditions: offline)
    let orders = (0..<3).map { TransferOrder.carryOut(Samples.assignment(Samples.get, $0)) }
    _ = first.obey(orders + [.carryOut(Samples.assignment(Samples.get, 0, request: 8))])
    _ = first.obey([.cancel(TransferKey(request: RequestID(7), index: 1)), .release(RequestID(8))])
    kill(first)
    let second = try place.engine(conditions: offline)
    await place.run(second) { statuses in statuses.count == 3 && statuses[1].end != nil }
    #expect(second.statuses(after: nil, atMost: 10).map(\.end) == [nil, .cancelled, nil])
    let names = place.names(in: "transfers/records").filter { $0.hasPrefix("7-") }
    #expect(names == ["7-0.json", "7-1.cancelled", "7-1.json", "7-2.json"])
    kill(second)
    // The end survives too, and is told until it is forgotten.
    let third = try place.engine(conditions: offline)
    #expect(third.statuses(after: nil, atMost: 10).map(\.end) == [nil, .cancelled, nil])
    #expect(third.obey([.forget(TransferKey(request: RequestID(7), index: 1))]) == [.taken])
    #expect(place.names(in: "transfers/records").filter { $0.hasPrefix("7-") } == ["7-0.json", "7-2.json"])
  }

  @Test func `a record that cannot be read is set aside, and the others go on`() throws {
    let first = try place.engine(conditions: TransferConditions(network: .unavailable))
    _ = first.obey((0..<2).map { TransferOrder.carryOut(Samples.assignment(Samples.get, $0)) })
    kill(first)
    try place.write(Array("{".utf8), to: "transfers/records/7-0.json")
    try place.write([], to: "transfers/records/7-9.json.new")
    try place.write([], to: "transfers/parts/99-0")
    let second = try place.engine(conditions: TransferConditions(network: .unavailable))
    #expect(second.statuses(after: nil, atMost: 10).map(\.key.index) == [1])
    #expect(place.names(in: "transfers/records") == ["7-0.json.unreadable", "7-1.json"])
    #expect(place.names(in: "transfers/parts") == [])
  }

  @Test(.contract(38.1)) func `a file that has its name is never written to again`() async throws {
    // The process was killed between the name and the end in the journal, on a server without validators.
    let bytes = Array("content".utf8)
    let server = try await FalseServer { _ in FalseAnswer(200, [("Content-Length", "4")], body: [1, 2, 3, 4]) }
    let first = try place.engine(conditions: TransferConditions(network: .unavailable))
    _ = first.obey([.carryOut(Samples.assignment(Transfer(url: server.origin + "/f", to: "f")))])
    kill(first)
    try FileManager.default.createDirectory(
      atPath: place.path("transfers/files/7"), withIntermediateDirectories: true)
    try place.write(bytes, to: "transfers/parts/7-0")
    try FileManager.default.linkItem(
      atPath: place.path("transfers/parts/7-0"), toPath: place.path("transfers/files/7/f"))
    let second = try place.engine()
    await place.run(second) { $0.first?.end != nil }
    await server.stop()
    #expect(second.statuses(after: nil, atMost: 1)[0].end?.file?.sha256 == bytes.sha256)
    #expect(place.contents(ofTarget: "f") == bytes)
    #expect(place.names(in: "transfers/parts") == [])
  }

  @Test func `the partial file of a transfer that has ended is removed, also beside a target elsewhere`() throws {
    // The process was killed after it wrote the end, and before it removed the other name of the file.
    let first = try place.engine(conditions: TransferConditions(network: .unavailable))
    for (index, target) in ["f", place.path("f")].enumerated() {
      var record = Samples.record(Transfer(url: "http://127.0.0.1/f", to: target), index)
      record.end = .done(TransferredFile(path: target, bytes: 1, sha256: [1].sha256))
      try first.journal.write(record)
      try SystemCall.write([1], to: first.journal.part(of: record.assignment))
    }
    try place.write([1], to: "f")
    kill(first)
    _ = try place.engine()
    #expect(place.names(in: "transfers/parts") == [])
    #expect(place.names(in: "") == ["f", "transfers"])
  }

  @Test func `a partial file that is shorter than its record is not gone on with`() async throws {
    let file = FalseFile([UInt8](repeating: 7, count: 20_000))
    let server = try await FalseServer { file.answer(to: $0) }
    let first = try place.engine(conditions: TransferConditions(network: .unavailable))
    let assignment = Samples.assignment(Transfer(url: server.origin + "/f", to: "f"))
    _ = first.obey([.carryOut(assignment)])
    var record = Samples.record(assignment.transfer)
    (record.offset, record.total, record.validator) = (10_000, 20_000, Samples.tag)
    try first.journal.write(record)
    kill(first)
    try place.write([1, 2, 3], to: "transfers/parts/7-0")
    let second = try place.engine()
    await place.run(second) { $0.first?.end != nil }
    await server.stop()
    #expect(place.contents(ofTarget: "f") == file.bytes)
    #expect(second.statuses(after: nil, atMost: 1)[0].resumedFrom == 0)
  }

  @Test func `the files of a request go with it, and count for the quota until then`() async throws {
    let file = FalseFile([UInt8](repeating: 7, count: 600))
    let server = try await FalseServer { file.answer(to: $0) }
    let first = try place.engine { $0.quota = 1000 }
    #expect(await place.end(first, Transfer(url: server.origin + "/f", to: "a/f")).first?.file?.bytes == 600)
    kill(first)
    let second = try place.engine { $0.quota = 1000 }
    let other = Samples.assignment(Transfer(url: server.origin + "/f", to: "g", size: 600), 0, request: 8)
    _ = second.obey([.carryOut(other)])
    await place.run(second) { $0.last?.state == .waiting(.quota, until: nil) }
    kill(second)
    let third = try place.engine { $0.quota = 1000 }
    _ = third.obey([.release(RequestID(7))])
    await place.run(third) { $0.last?.end != nil && $0.count == 1 }
    await server.stop()
    #expect(place.names(in: "transfers/files") == ["8"])
    #expect(place.contents(of: "transfers/files/8/g") == file.bytes)
  }

  @Test func `a process that is asked to end loses nothing that arrived`() async throws {
    let bytes = [UInt8](repeating: 7, count: 20_000)
    let file = FalseFile(bytes)
    let engine = try place.engine { $0.syncBytes = 1 << 30 }
    let count = Mutex(0)
    let server = try await FalseServer { request in
      var answer = file.answer(to: request)
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst {
        answer.turn = (15_000, .silence)
        answer.sent = { engine.drain() }
      }
      return answer
    }
    _ = engine.obey([.carryOut(Samples.assignment(Transfer(url: server.origin + "/f", to: "f")))])
    await engine.perform()
    engine.journal.letGo()
    let second = try place.engine()
    let offset = second.statuses(after: nil, atMost: 1)[0].bytes
    await place.run(second) { $0.first?.end != nil }
    await server.stop()
    #expect(second.statuses(after: nil, atMost: 1)[0].resumedFrom == offset)
    #expect(place.contents(ofTarget: "f") == bytes)
  }
}
