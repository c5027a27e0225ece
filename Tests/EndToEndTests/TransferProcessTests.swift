import BatonBase
import BatonModel
import BatonTransfers
import ContractRows
import FalseServer
import Foundation
import Synchronization
import Testing

/// The process of the transfers below a real supervisor.
extension EndToEnd {
  @Suite("Transfers go on whatever is killed", .timeLimit(.minutes(5)))
  struct TransferProcessTests {
    /// The children of a supervisor: its worker, or the process of the transfers.
    private func children(of supervisor: Child, areTransfers: Bool) -> [Int32] {
      supervisor.children.filter { pid in
        let variables = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
        return variables.range(of: Data("BATON_SUPERVISED_ROLE=\(areTransfers ? "transfers" : "worker")".utf8)) != nil
      }
    }

    /// Asks the transfers, again and again while they start.
    private func ask(_ client: TransferClient, _ request: TransferRequest) async -> TransferAnswer {
      while true {
        if let answer = try? await client.ask(request) { return answer }
        await Task.yield()
      }
    }

    @Test(
      "SIGKILL of worker and transfers: the download goes on where it was, and its file is whole",
      .contract(37.1, 38.1))
    func kills() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      var random = SplitMix64(seed: 23)
      let bytes = (0..<300_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let file = FalseFile(bytes)
      let requests = Mutex<[Int64?]>([])
      let stands = Signal()
      let server = try await FalseServer { request in
        let number = requests.withLock { requests in
          requests.append(request.rangeStart)
          return requests.count
        }
        var answer = file.answer(to: request)
        // The first connection breaks, so that what came is synced. The second one stands still until all is killed.
        if number == 1 { answer.turn = (100_000, .close) }
        if number == 2 {
          answer.turn = (100_000, .silence)
          answer.sent = { stands.raise() }
        }
        return answer
      }
      try await fleet.startCoordinator()
      try await fleet.startWorker("one")
      let supervisor = try #require(fleet.worker("one"))
      let client = TransferClient(folder: fleet.folder + "/one/transfers")
      let key = TransferKey(request: RequestID(1), index: 0)
      let identifier = try #require(JobIdentifier("com.example.fetch"))
      let pattern = try #require(IdentifierPattern("com.example.fetch"))
      let order = TransferOrder.carryOut(
        TransferAssignment(
          key: key, transfer: Transfer(url: server.origin + "/f", to: "f"), identifier: identifier, pattern: pattern))
      #expect(await ask(client, .orders([order])) == .orders([.taken]))
      await stands.wait()

      let transfers = children(of: supervisor, areTransfers: true)
      #expect(transfers.count == 1)
      for worker in children(of: supervisor, areTransfers: false) { kill(worker, SIGKILL) }
      while children(of: supervisor, areTransfers: false).isEmpty { await Task.yield() }
      #expect(children(of: supervisor, areTransfers: true) == transfers, "the transfers died with the worker")
      #expect(requests.withLock { $0.count } == 2, "the transfer did not go on")

      for process in transfers { kill(process, SIGKILL) }
      var status: TransferStatus?
      while status == nil {
        guard case .statuses(let all) = await ask(client, .list(after: nil, atMost: 10)) else { continue }
        status = all.first { if case .ended = $0.state { true } else { false } }
        await Task.yield()
      }
      guard case .ended(.done(let done))? = status?.state else {
        Issue.record("the transfer ended: \(String(describing: status))")
        return
      }
      #expect(FileManager.default.contents(atPath: done.path).map(Array.init) == bytes)
      #expect(requests.withLock { $0 } == [nil, 100_000, 100_000])
      #expect(children(of: supervisor, areTransfers: true) != transfers)
      await server.stop()
    }
  }
}
