import BatonModel
import Testing

@testable import BatonCore

/// The receipts that a worker keeps of the coordinator's store (promise P12).
@Suite struct ReceiptTests {
  private func receipts(of effects: [WorkerCore.Effect]) -> [Receipt] {
    guard case .send(.hello(let hello))? = effects.first else { return [] }
    return hello.receipts
  }
  private func receipt(of effects: [WorkerCore.Effect]) -> Receipt? { receipts(of: effects).last }

  /// Each coordinator counts its own commits. A lost commit of the first one must be noticed although the worker has
  /// heard of the second one since.
  @Test func `the last receipt of each tenure is kept, the latest at the end, and at most eight of them`() {
    var bench = Bench()
    func news(_ tenure: Int64, _ sequence: Int64) -> Receipt { Receipt(store: "s", tenure: tenure, sequence: sequence) }
    for receipt in [news(1, 5), news(2, 90), news(1, 7), news(2, 89)] { _ = bench.hears(.receipt(receipt)) }
    #expect(receipts(of: bench.connects()) == [news(1, 7), news(2, 90)])
    for tenure in 3...10 as ClosedRange<Int64> { _ = bench.hears(.receipt(news(tenure, 1))) }
    #expect(receipts(of: bench.connects()).map(\.tenure) == Array(3...10))
    _ = bench.hears(.receipt(Receipt(store: "t", tenure: 3, sequence: 1)))
    #expect(receipts(of: bench.connects()) == [Receipt(store: "t", tenure: 3, sequence: 1)])
  }

  @Test func `the first hello has no receipt, and each later one has the last that came`() {
    var bench = Bench()
    #expect(receipt(of: bench.connects()) == nil)
    #expect(bench.hears(.receipt(Receipt(store: "s", tenure: 1, sequence: 5))) == [])
    #expect(bench.hears(.receipt(Receipt(store: "s", tenure: 1, sequence: 9))) == [])
    #expect(receipt(of: bench.connects()) == Receipt(store: "s", tenure: 1, sequence: 9))
  }

  @Test func `a receipt that comes late takes nothing back, and one of another store counts at once`() {
    var bench = Bench()
    for sequence in [9, 5] as [Int64] { _ = bench.hears(.receipt(Receipt(store: "s", tenure: 1, sequence: sequence))) }
    #expect(receipt(of: bench.connects()) == Receipt(store: "s", tenure: 1, sequence: 9))
    _ = bench.hears(.receipt(Receipt(store: "t", tenure: 1, sequence: 2)))
    #expect(receipt(of: bench.connects()) == Receipt(store: "t", tenure: 1, sequence: 2))
  }

  /// A restored store has lost its latest launches and gives their numbers to others. The worker must not refuse those
  /// as launches that it has seen.
  @Test func `launch numbers of a store that went backwards are new ones`() {
    var bench = Bench.welcomed()
    _ = bench.hears(.receipt(Receipt(store: "s", tenure: 1, sequence: 5)))
    bench.starts(Bench.assignment(1, launch: 3))
    _ = bench.core.handlerEnded(key(1, 3), .finished)
    _ = bench.hears(.endingCommitted(key(1, 3)))
    #expect(bench.hears(.launch(Bench.assignment(1, launch: 2))) == [.ended(key(1, 2), .lost)])
    _ = bench.hears(.receipt(Receipt(store: "s", tenure: 2, sequence: 5)))
    #expect(bench.hears(.launch(Bench.assignment(1, launch: 2))) == [.ended(key(1, 2), .lost)])
    _ = bench.hears(.receipt(Receipt(store: "t", tenure: 2, sequence: 6)))
    #expect(
      bench.hears(.launch(Bench.assignment(1, launch: 2))).contains { effect in
        if case .start = effect { true } else { false }
      })
  }

  @Test func `what is withdrawn before the welcome is not said again after it`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.commits(1)
    _ = bench.connects()
    let refused = bench.hears(.withdraw(key(1), "the store went backwards"))
    #expect(refused.contains(.refused(key(1), "the store went backwards", isSuperseded: true)))
    #expect(
      bench.hears(.welcome(leaseTerm: Bench.term)).allSatisfy { effect in
        if case .send(.checkpoint) = effect { false } else { true }
      })
  }

  /// A store that went backwards gives out launch numbers again.
  @Test func `a launch that was withdrawn and comes again is lost, not taken for the one that still runs`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.hears(.withdraw(key(1), "the store went backwards"))
    #expect(bench.hears(.launch(Bench.assignment(1))) == [.ended(key(1), .lost)])
    #expect(bench.core.launches[key(1)]?.isSuperseded == true, "the old one is still being stopped")
  }
}
