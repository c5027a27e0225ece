import BatonBase
import BatonHost
import BatonModel
import BatonProcess
import FalseServer
import Foundation
import Synchronization
import Testing

@testable import BatonTransfers

/// The socket by which a worker gives orders to the transfers of its host.
@Suite(.timeLimit(.minutes(5))) struct TransferSocketTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  /// Runs `body` while an engine works and its socket answers. The transfers wait for a network that does not come.
  private func serving(
    peer: @escaping @Sendable (UnixSocket) -> UInt32? = { $0.peerUser },
    conditions: @escaping @Sendable (Conditions) -> Void = { _ in },
    body: @escaping @Sendable (TransferClient, TransferEngine) async throws -> Void
  ) async throws {
    let engine = try place.engine(conditions: TransferConditions(network: .unavailable))
    let socket = TransferSocket(engine, peer: peer, conditions: conditions)
    let ready = Signal()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await engine.perform() }
      group.addTask { try await socket.run { ready.raise() } }
      await ready.wait()
      let result: Result<Void, any Error>
      do { result = .success(try await body(TransferClient(folder: engine.folder), engine)) } catch {
        result = .failure(error)
      }
      group.cancelAll()
      try await group.waitForAll()
      try result.get()
    }
  }

  private func order(_ index: Int) -> TransferOrder { .carryOut(Samples.assignment(Samples.get, index)) }

  @Test func `an order that was taken is in the journal, and comes twice without harm`() async throws {
    let place = place
    try await serving { client, _ in
      let orders = [order(0), order(1)]
      let answer1 = try await client.ask(.orders(orders))
      #expect(answer1 == .orders([.taken, .taken]))
      #expect(place.names(in: "transfers/records") == ["7-0.json", "7-1.json"])
      let answer2 = try await client.ask(.orders(orders))
      #expect(answer2 == .orders([.taken, .taken]))
      let forget = TransferOrder.forget(TransferKey(request: RequestID(7), index: 0))
      let answer3 = try await client.ask(.orders([forget]))
      #expect(answer3 != .orders([.taken]), "it has not ended")
    }
  }

  @Test func `a transfer that is not valid ends at once, with the reason`() async throws {
    try await serving { client, engine in
      var transfer = Samples.get
      transfer.url = "ftp://a.example/f"
      _ = try await client.ask(.orders([.carryOut(Samples.assignment(transfer))]))
      let end = engine.statuses(after: nil, atMost: 1)[0].end
      #expect(end?.code == .invalid && end?.text?.contains("http") == true)
    }
  }

  @Test func `transfers are told page by page`() async throws {
    try await serving { client, _ in
      _ = try await client.ask(.orders((0..<5).map { order($0) }))
      guard case .statuses(let first) = try await client.ask(.list(after: nil, atMost: 3)),
        case .statuses(let rest) = try await client.ask(.list(after: first.last?.key, atMost: 3))
      else {
        Issue.record("no transfers are told")
        return
      }
      #expect((first + rest).map(\.key.index) == [0, 1, 2, 3, 4])
      #expect(first[0].state == .waiting(.network, until: nil))
    }
  }

  @Test func `who waits for a change gets it when it comes`() async throws {
    try await serving { client, engine in
      guard case .changes(let none) = try await client.ask(.changes(since: nil, atMost: 10, wait: 0)) else {
        Issue.record("no changes are told")
        return
      }
      #expect(none.statuses.isEmpty)
      async let answer = client.ask(.changes(since: none.cursor, atMost: 10, wait: 30_000))
      // The order comes when the other request waits, or before: both are told.
      while engine.state.withLock({ $0.waiters.isEmpty }) { await Task.yield() }
      _ = try await client.ask(.orders([order(3)]))
      guard case .changes(let changes) = try await answer else {
        Issue.record("no change is told")
        return
      }
      #expect(changes.statuses.map(\.key.index) == [3])
      let other = TransferCursor(run: "another run", number: 1 << 40)
      guard case .changes(let all) = try await client.ask(.changes(since: other, atMost: 10, wait: 0)) else {
        Issue.record("nothing is told to a worker that knew another run")
        return
      }
      #expect(all.statuses.map(\.key.index) == [3])
    }
  }

  @Test func `the conditions of the host are passed on`() async throws {
    let heard = Mutex<[Conditions]>([])
    var conditions = Conditions.assumed
    conditions.owner = .paused(by: "alex", until: nil)
    let note: @Sendable (Conditions) -> Void = { told in heard.withLock { $0.append(told) } }
    try await serving(conditions: note) { [conditions] client, _ in
      let answer = try await client.ask(.conditions(conditions))
      #expect(answer == .done)
    }
    #expect(heard.withLock { $0 } == [conditions])
  }

  @Test func `too many orders, too long a wait and too long a page are refused`() async throws {
    try await serving { client, _ in
      for request in [
        TransferRequest.orders([]), .orders((0...100).map { order($0) }), .list(after: nil, atMost: 0),
        .list(after: nil, atMost: 201), .changes(since: nil, atMost: 1, wait: 30_001),
        .changes(since: nil, atMost: 1, wait: -1),
      ] {
        guard case .refused = try await client.ask(request) else {
          Issue.record("\(request) is not refused")
          continue
        }
      }
    }
  }

  @Test(arguments: [
    "no json", "{}", "{\"orders\":{\"_0\":[{\"carryOut\":{}}]}}", String(repeating: "a", count: 2 << 20),
  ])
  func `text that is no request is refused, and harms nothing`(text: String) async throws {
    try await serving { client, engine in
      let answer = try await onOwnThread { () -> UnixSocket.Line in
        let socket = try #require(UnixSocket.make())
        #expect(socket.connect(to: TransferSocket.path(in: engine.folder)) == 0)
        _ = socket.send(Array(text.utf8) + [UInt8(ascii: "\n")], until: .now + .seconds(30))
        return socket.line(atMost: 1 << 20, until: .now + .seconds(30))
      }
      if case .line(let line) = answer { #expect(String(decoding: line, as: UTF8.self).contains("refused")) }
      let answer5 = try await client.ask(.orders([order(0)]))
      #expect(answer5 == .orders([.taken]))
    }
  }

  @Test(arguments: [geteuid() &+ 4_000_000, nil]) func `another user's program cannot use the socket`(
    user: UInt32?
  ) async throws {
    let peer: @Sendable (UnixSocket) -> UInt32? = { _ in user }
    try await serving(peer: peer) { client, engine in
      guard case .refused(let text) = try await client.ask(.orders([order(0)])) else {
        Issue.record("an order of another user is taken")
        return
      }
      #expect(text.contains("only the worker"))
      #expect(engine.statuses(after: nil, atMost: 10).isEmpty)
    }
  }

  @Test func `another user cannot even reach the socket, nor the files`() async throws {
    let place = place
    try await serving { _, engine in
      func mode(_ name: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: engine.folder + name))?[.posixPermissions] as? Int
      }
      #expect(mode("") == 0o700)
      #expect(mode("/socket") == 0o600)
      #expect(mode("/files") == 0o700 && mode("/parts") == 0o700 && mode("/records") == 0o700)
    }
    #expect(!place.names(in: "transfers").contains("socket"), "the socket goes with its process")
  }

  @Test func `a second process cannot use the folder`() throws {
    let engine = try place.engine()
    #expect(throws: SystemError.self) { try place.engine() }
    _ = engine.folder
  }
}
