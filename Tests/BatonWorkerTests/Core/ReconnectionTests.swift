import BatonBase
import BatonModel
import BatonWire
import Foundation
import Logging
import Synchronization
import Testing

@testable import BatonCore
@testable import BatonWorker

@Suite("Waiting before connecting again")
struct ReconnectionTests {
  private static func pauses(_ count: Int, seed: UInt64 = 7, atMost limit: Duration = .seconds(60)) -> [Duration] {
    var (core, generator) = (Reconnection(), SplitMix64(seed: UInt64(seed)))
    return (0..<count).map { _ in core.next(afterConnectionOf: .zero, atMost: limit, using: &generator) }
  }

  @Test("the same generator draws the same times")
  func seeded() {
    #expect(Self.pauses(20) == Self.pauses(20))
    #expect(Self.pauses(20) != Self.pauses(20, seed: 8))
  }

  @Test("each ceiling is twice the one before, up to the last, and times are drawn from nothing to there")
  func ceilings() {
    let fleet = (1...1000).map { Self.pauses(7, seed: UInt64($0)) }
    for (attempt, ceiling) in [200, 400, 800, 1600, 1600, 1600, 1600].enumerated() {
      let drawn = fleet.map { $0[attempt].nanoseconds / 1_000_000 }
      #expect(drawn.allSatisfy { (0...Int64(ceiling)).contains($0) })
      // The times use the whole range: some lie in its lowest tenth, some in its highest.
      #expect(drawn.contains { $0 < ceiling / 10 } && drawn.contains { $0 > ceiling * 9 / 10 })
    }
  }

  @Test("nothing is above the limit that the lease sets, and the end of time is one")
  func limit() {
    #expect(Self.pauses(50, atMost: .milliseconds(100)).allSatisfy { $0 <= .milliseconds(100) })
    #expect(Self.pauses(3, atMost: .zero) == [.zero, .zero, .zero])
    #expect(Self.pauses(100_000).allSatisfy { $0 <= Reconnection.longest })
  }

  @Test("a worker that is refused again and again comes back more and more seldom, and at last about every ten seconds")
  func refused() {
    let fleet = (1...1000).map { seed in
      var (core, generator) = (Reconnection(), SplitMix64(seed: UInt64(seed)))
      return (1...8).map { refusals in
        core.next(afterConnectionOf: .zero, refusals: refusals, atMost: .seconds(60), using: &generator)
      }
    }
    for (attempt, ceiling) in [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000].enumerated() {
      let drawn = fleet.map { $0[attempt].nanoseconds / 1_000_000 }
      #expect(drawn.allSatisfy { (0...Int64(ceiling)).contains($0) })
      #expect(drawn.contains { $0 > ceiling * 9 / 10 })
    }
  }

  /// The coordinator of this test refuses the worker twice, then welcomes it and closes the connection. At each hello
  /// the test reads how many refusals the worker has counted.
  @Test("a worker that was taken counts its refusals anew", .timeLimit(.minutes(10)))
  func taken() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = WorkerConfiguration(name: "desk", dataFolder: folder, slots: 1)
    configuration.probesHost = false
    let counted = Mutex<[Int]>([])
    let worker = Mutex<Worker?>(nil)
    let connector = EmbeddedConnector { connection in
      _ = await connection.up.receive()
      let round = counted.withLock { counted in
        counted.append(worker.withLock { $0?.state.withLock { $0.core.refusals } ?? -1 })
        return counted.count
      }
      switch round {
      case 1, 2: connection.down.send(.refused("the name is in use", isFinal: false))
      case 3: connection.down.send(.welcome(leaseTerm: .seconds(15)))
      default: worker.withLock { $0 }?.drain()
      }
    }
    let one = Worker(
      configuration, incarnation: Incarnation("i"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      connector: connector)
    worker.withLock { $0 = one }
    try await one.run()
    #expect(counted.withLock { $0.prefix(4) } == [0, 1, 2, 0])
  }

  @Test(.timeLimit(.minutes(10))) func `the worker connects again each time, also for the same reason`() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = WorkerConfiguration(name: "desk", dataFolder: folder, slots: 1)
    configuration.probesHost = false
    let worker = Mutex<Worker?>(nil)
    let connections = Mutex(0)
    let connector = EmbeddedConnector { connection in
      _ = await connection.up.receive()
      guard
        connections.withLock({
          $0 += 1
          return $0 < 4
        })
      else { return worker.withLock { $0 }?.drain() ?? () }
      worker.withLock { $0 }?.decide { _ in [.reconnect("the coordinator does not answer")] }
      // The worker closes the connection.
      while await connection.up.receive() != nil {}
    }
    // The worker's clock stands still, so that it does not close a silent connection by itself.
    let one = Worker(
      configuration, incarnation: Incarnation("i"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      connector: connector,
      clocks: Clocks(instant: { Instant(nanoseconds: 0) }, sleep: Clocks.system.sleep))
    worker.withLock { $0 = one }
    try await one.run()
    #expect(connections.withLock { $0 } == 4)
  }

  @Test("after a connection that held the ceiling begins anew; after one that was refused at once it does not")
  func success() {
    func fifth(after lifetime: Duration) -> Duration {
      (1...200).map { seed in
        var (core, generator) = (Reconnection(), SplitMix64(seed: UInt64(seed)))
        for _ in 1...4 { _ = core.next(afterConnectionOf: .zero, atMost: .seconds(60), using: &generator) }
        return core.next(afterConnectionOf: lifetime, atMost: .seconds(60), using: &generator)
      }.max() ?? .zero
    }
    #expect(fifth(after: .milliseconds(5001)) <= Reconnection.shortest)
    #expect(fifth(after: .milliseconds(5000)) > .milliseconds(1400))
  }

  @Test(
    "a thousand workers whose coordinator was away do not come back in one instant", arguments: [0, 50, 1000, 20_000])
  func fleet(awayMilliseconds: Int64) {
    // For each worker, the time of its first attempt after the coordinator is back, in hundredths of a second.
    let arrivals = (1...1000).map { seed in
      var (core, generator, now) = (Reconnection(), SplitMix64(seed: UInt64(seed)), Duration.zero)
      repeat {
        now += core.next(
          afterConnectionOf: now == .zero ? .seconds(60) : .zero, atMost: .seconds(60), using: &generator)
      } while now < .milliseconds(awayMilliseconds)
      return now.nanoseconds / 10_000_000
    }
    let busiest = Dictionary(grouping: arrivals) { $0 }.values.map(\.count).max() ?? 0
    // An even spread over the lowest ceiling, 200 ms, would have 50 arrivals in each hundredth of a second.
    #expect(busiest < 100)
  }
}
