import BatonModel
import ContractRows
import Testing

@testable import BatonTransfers

@Suite struct TransfersCoreTests {
  private func key(_ index: Int, request: Int64 = 7) -> TransferKey {
    TransferKey(request: RequestID(request), index: index)
  }

  private func core(
    atOnce: Int = 2, quota: Int64 = 1000, minFree: Int64 = 10, records: [TransferRecord] = [],
    kept: [RequestID: Int64] = [:], conditions: TransferConditions = TransferConditions(), free: Int64 = 10_000,
    boot: String = "boot"
  ) -> TransfersCore {
    TransfersCore(
      TransfersCore.Limits(atOnce: atOnce, quota: quota, minFree: minFree), records: records, kept: kept,
      conditions: conditions, free: free, boot: boot, at: Samples.start)
  }

  /// The keys of the attempts that effects begin.
  private func started(_ effects: [TransfersCore.Effect]) -> [Int] {
    effects.compactMap { if case .start(let plan) = $0 { plan.key.index } else { nil } }
  }

  private func settled(_ effects: [TransfersCore.Effect]) -> TransferEnd? {
    effects.compactMap { if case .settle(let record) = $0 { record.end } else { nil } }.first
  }

  private func failure(_ effects: [TransfersCore.Effect]) -> TransferFailure.Code? {
    if case .failed(let failure)? = settled(effects) { failure.code } else { nil }
  }

  private func order(
    _ core: inout TransfersCore, _ transfer: Transfer = Samples.get, _ index: Int = 0, at now: Now = Samples.start
  ) -> [TransfersCore.Effect] {
    core.carryOut(Samples.record(transfer, index, at: now), boot: "boot", at: now)
  }

  private func wait(_ core: TransfersCore, _ index: Int = 0) -> TransferWait? {
    if case .waiting(let wait, _)? = core.lives[key(index)]?.status.state { wait } else { nil }
  }

  private func receives(
    _ core: inout TransfersCore, _ index: Int = 0, total: Int64?, validator: Validator? = Samples.tag, from: Int64 = 0
  ) -> [TransfersCore.Effect] {
    core.receives(key(index), Reception(from: from, total: total, validator: validator), at: Samples.start)
  }

  // MARK: Turns

  @Test func `as many transfers run as may, and the next one begins when one has ended`() {
    var core = core()
    #expect((0..<4).flatMap { started(order(&core, Samples.get, $0)) } == [0, 1])
    #expect(wait(core, 2) == .turn && wait(core, 3) == .turn)
    let effects = core.attemptEnded(key(1), .finished(Samples.file()), at: Samples.start)
    #expect(settled(effects) == .done(Samples.file()))
    #expect(started(effects) == [2])
    #expect(core.settled(key(1), at: Samples.start) == [])
  }

  @Test func `the next one begins while the disk works for those that have arrived, which are as many at most`() {
    var core = core(quota: 100_000)
    #expect((0..<6).flatMap { started(order(&core, Samples.get, $0)) } == [0, 1])
    for (arrives, begins) in [(0, [2]), (1, [3]), (2, []), (3, [])] {
      #expect(receives(&core, arrives, total: 100) == [])
      #expect(started(core.arrived(key(arrives), at: Samples.start)) == begins)
    }
    #expect(wait(core, 4) == .turn)
    #expect(started(core.attemptEnded(key(2), .finished(Samples.file()), at: Samples.start)) == [4])
    // One whose file turns out to be wrong, or whose attempt is asked to stop, ends as any other.
    #expect(core.lives[key(0)]?.status.state == .running)
    #expect(core.cancel(key(0), at: Samples.start) == [.stop(key(0))])
    #expect(settled(core.attemptEnded(key(0), .stopped, at: Samples.start)) == .cancelled)
  }

  @Test func `the order of orders is kept after a restart`() {
    let records = (0..<3).map { Samples.record(Samples.get, $0, at: Samples.now(Double(3 - $0))) }
    var core = core(records: records)
    #expect(started(core.tick(at: Samples.now(4), free: 10_000)) == [2, 1])
  }

  @Test func `an order that comes twice is one transfer`() {
    var core = core()
    #expect(started(order(&core)) == [0])
    #expect(order(&core) == [])
    #expect(core.lives.count == 1)
  }

  @Test func `a transfer waits for its earliest begin date, and the core says when it is`() {
    var core = core()
    var transfer = Samples.get
    transfer.earliestBeginDate = Samples.now(20).date
    #expect(order(&core, transfer) == [])
    #expect(wait(core) == .earliestBeginDate)
    #expect(core.wakesAt == Samples.start.instant)
    #expect(core.tick(at: Samples.now(19), free: 10_000) == [])
    #expect(core.wakesAt == Samples.now(20).instant)
    #expect(started(core.tick(at: Samples.now(20), free: 10_000)) == [0])
  }

  @Test func `among ten thousand transfers the next one is found`() {
    var core = core(atOnce: 4, quota: .max)
    var running = (0..<10_000).flatMap { started(order(&core, Samples.get, $0)) }
    var ended = 0
    while let index = running.first {
      running.removeFirst()
      running += started(core.attemptEnded(key(index), .finished(Samples.file()), at: Samples.start))
      running += started(core.settled(key(index), at: Samples.start))
      ended += 1
    }
    #expect(ended == 10_000)
  }

  // MARK: Attempts

  @Test func `an interrupted download goes on behind what is there, with its validator`() {
    var core = core()
    _ = order(&core)
    _ = receives(&core, total: 100)
    _ = core.advanced(key(0), to: 40, free: 10_000, at: Samples.start)
    #expect(core.attemptEnded(key(0), .interrupted("reset"), at: Samples.start) == [])
    #expect(wait(core) == .retry)
    #expect(core.lives[key(0)]?.status.lastError == "reset")
    let effects = core.tick(at: Samples.now(1), free: 10_000)
    let plan = Samples.plan(offset: 40, total: 100)
    #expect(effects == [.start(plan)])
    #expect(core.lives[key(0)]?.status.attempts == 2 && core.lives[key(0)]?.status.resumedFrom == 40)
  }

  @Test func `a simulated interruption ends the attempt, and the next one goes on behind what is there`() {
    var core = core()
    _ = order(&core)
    _ = receives(&core, total: 100)
    _ = core.advanced(key(0), to: 40, free: 10_000, at: Samples.start)
    #expect(core.simulate(.interruption, of: key(0), at: Samples.start) == [.stop(key(0))])
    #expect(core.attemptEnded(key(0), .stopped, at: Samples.start) == [])
    #expect(wait(core) == .retry)
    #expect(core.lives[key(0)]?.status.lastError?.contains("simulated") == true)
    #expect(core.simulate(.interruption, of: key(0), at: Samples.start) == [], "nothing runs")
    #expect(core.tick(at: Samples.now(1), free: 10_000) == [.start(Samples.plan(offset: 40, total: 100))])
    // An attempt that ends while it is asked to stop has its own end.
    _ = core.simulate(.interruption, of: key(0), at: Samples.now(1))
    let effects = core.attemptEnded(key(0), .finished(Samples.file()), at: Samples.now(1))
    #expect(settled(effects) == .done(Samples.file()))
    #expect(core.simulate(.failure, of: key(0), at: Samples.now(1)) == [], "it has ended")
  }

  @Test func `a host says that no further file fits, until there is room`() {
    var core = core(quota: 100, minFree: 10, free: 10_000)
    #expect(!core.isOutOfRoom)
    _ = order(&core)
    _ = receives(&core, total: 100)
    #expect(core.isOutOfRoom, "the quota")
    _ = core.attemptEnded(key(0), .finished(Samples.file()), at: Samples.start)
    _ = core.settled(key(0), at: Samples.start)
    _ = core.release(RequestID(7), at: Samples.start)
    _ = core.removed(RequestID(7), at: Samples.start)
    #expect(!core.isOutOfRoom, "its files are removed")
    _ = core.tick(at: Samples.now(1), free: 9)
    #expect(core.isOutOfRoom, "the disk")
    _ = core.tick(at: Samples.now(2), free: 10)
    #expect(!core.isOutOfRoom)
  }

  @Test func `a simulated failure ends a transfer that runs, and one that waits`() {
    var core = core(atOnce: 1)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    #expect(failure(core.simulate(.failure, of: key(1), at: Samples.start)) == .simulated)
    #expect(core.simulate(.failure, of: key(0), at: Samples.start) == [.stop(key(0))])
    #expect(failure(core.attemptEnded(key(0), .stopped, at: Samples.start)) == .simulated)
    #expect(core.simulate(.failure, of: key(7), at: Samples.start) == [], "one that is not known")
  }

  @Test func `a download without a validator begins at the beginning`() {
    var core = core()
    _ = order(&core)
    _ = receives(&core, total: 100, validator: nil)
    _ = core.advanced(key(0), to: 40, free: 10_000, at: Samples.start)
    _ = core.attemptEnded(key(0), .interrupted("reset"), at: Samples.start)
    #expect(core.tick(at: Samples.now(1), free: 10_000) == [.start(Samples.plan(total: 100))])
  }

  @Test func `after a range that lies no range is asked for`() {
    var core = core()
    _ = order(&core)
    _ = receives(&core, total: 100)
    _ = core.advanced(key(0), to: 40, free: 10_000, at: Samples.start)
    _ = core.attemptEnded(key(0), .startOver("lies", rangesLie: true), at: Samples.start)
    _ = core.tick(at: Samples.now(10), free: 10_000)
    _ = receives(&core, total: 100)
    _ = core.advanced(key(0), to: 60, free: 10_000, at: Samples.start)
    _ = core.attemptEnded(key(0), .interrupted("reset"), at: Samples.now(10))
    guard case .start(let plan)? = core.tick(at: Samples.now(20), free: 10_000).first else {
      Issue.record("no attempt follows")
      return
    }
    #expect(plan.offset == 0)
  }

  @Test func `the waits grow while nothing comes, and begin again when something has come`() {
    var core = core()
    _ = order(&core)
    var now = 0.0
    for failures in 1...5 {
      _ = core.attemptEnded(key(0), .interrupted("refused"), at: Samples.now(now))
      let until = now + Double(1 << failures)
      #expect(core.tick(at: Samples.now(now + Double(1 << failures) * 0.74), free: 10_000) == [])
      #expect(started(core.tick(at: Samples.now(until), free: 10_000)) == [0])
      now = until
    }
    _ = receives(&core, total: 100)
    _ = core.advanced(key(0), to: 1, free: 10_000, at: Samples.now(now))
    _ = core.attemptEnded(key(0), .interrupted("reset"), at: Samples.now(now))
    #expect(started(core.tick(at: Samples.now(now + 1), free: 10_000)) == [0])
  }

  @Test func `an upload that was sent and not accepted has brought nothing`() {
    var core = core()
    _ = order(&core, Samples.put)
    for failures in 1...6 {
      let now = Double(failures * 1000)
      _ = receives(&core, total: 100, validator: nil)
      _ = core.advanced(key(0), to: 100, free: 10_000, at: Samples.now(now))
      _ = core.attemptEnded(key(0), .busy("503", retryAfter: nil), at: Samples.now(now))
      #expect(core.tick(at: Samples.now(now + Double(1 << failures) * 0.74), free: 10_000) == [])
      #expect(started(core.tick(at: Samples.now(now + Double(1 << failures)), free: 10_000)) == [0])
    }
  }

  @Test func `the server's wish for patience counts if it is longer`() {
    var core = core()
    _ = order(&core)
    _ = core.attemptEnded(key(0), .busy("503", retryAfter: .seconds(100)), at: Samples.start)
    #expect(core.tick(at: Samples.now(99), free: 10_000) == [])
    #expect(started(core.tick(at: Samples.now(100), free: 10_000)) == [0])
  }

  @Test func `a transfer that has not ended in its time has failed, waiting or running`() {
    var core = core(atOnce: 1)
    var transfer = Samples.get
    transfer.resourceTimeout = .seconds(100)
    _ = order(&core, transfer, 0)
    _ = order(&core, transfer, 1)
    #expect(core.tick(at: Samples.now(99), free: 10_000) == [])
    let effects = core.tick(at: Samples.now(100), free: 10_000)
    #expect(effects.contains(.stop(key(0))))
    #expect(failure(effects) == .timedOut)
    #expect(failure(core.attemptEnded(key(0), .stopped, at: Samples.now(100))) == .timedOut)
  }

  // MARK: Conditions

  @Test(.contract(37.3)) func `a lost condition pauses a transfer, and its return starts it, which is no failure`() {
    var core = core()
    var transfer = Samples.get
    transfer.isDiscretionary = true
    _ = order(&core, transfer)
    #expect(core.conditionsChanged(TransferConditions(isIdle: false), at: Samples.start) == [.stop(key(0))])
    #expect(core.attemptEnded(key(0), .stopped, at: Samples.start) == [])
    #expect(wait(core) == .idle)
    #expect(core.lives[key(0)]?.status.lastError == nil)
    #expect(started(core.conditionsChanged(TransferConditions(), at: Samples.start)) == [0])
  }

  @Test func `a wait that is over while a condition is missing becomes a wait for the condition`() {
    var core = core()
    _ = order(&core)
    _ = core.attemptEnded(key(0), .interrupted("reset"), at: Samples.start)
    _ = core.conditionsChanged(TransferConditions(network: .unavailable), at: Samples.start)
    #expect(wait(core) == .retry)
    _ = core.tick(at: Samples.now(10), free: 10_000)
    #expect(wait(core) == .network)
    let number = core.lastChange
    _ = core.tick(at: Samples.now(20), free: 10_000)
    #expect(core.lastChange == number, "nothing has changed, and nothing is told")
  }

  @Test func `an end that comes while a transfer is paused counts`() {
    var core = core()
    _ = order(&core)
    _ = core.conditionsChanged(TransferConditions(network: .unavailable), at: Samples.start)
    #expect(
      settled(core.attemptEnded(key(0), .finished(Samples.file()), at: Samples.start)) == .done(Samples.file()))
  }

  // MARK: Room

  @Test func `files that do not fit the quota wait until others are released`() {
    var core = core(quota: 100)
    var transfer = Samples.get
    transfer.size = 60
    _ = order(&core, transfer, 0)
    _ = core.carryOut(Samples.record(transfer, 0, request: 8), boot: "boot", at: Samples.start)
    #expect(core.lives[key(0, request: 8)]?.status.state == .waiting(.quota, until: nil))
    _ = receives(&core, total: 60)
    _ = core.advanced(key(0), to: 60, free: 10_000, at: Samples.start)
    #expect(started(core.attemptEnded(key(0), .finished(Samples.file(60)), at: Samples.start)) == [])
    #expect(core.settled(key(0), at: Samples.start) == [], "the file is kept, and still counts")
    #expect(core.release(RequestID(7), at: Samples.start) == [.remove(RequestID(7), [key(0)])])
    let effects = core.removed(RequestID(7), at: Samples.start)
    #expect(started(effects) == [0])
  }

  @Test func `files that were kept before a restart count`() {
    var core = core(quota: 100, kept: [RequestID(1): 60])
    var transfer = Samples.get
    transfer.size = 41
    #expect(order(&core, transfer) == [])
    #expect(wait(core) == .quota)
  }

  @Test func `a file that can never fit fails, by what the transfer says and by what the server says`() {
    var core = core(quota: 100)
    var transfer = Samples.get
    transfer.size = 101
    #expect(failure(order(&core, transfer, 0)) == .tooLarge)
    _ = order(&core, Samples.get, 1)
    #expect(receives(&core, 1, total: 101) == [.stop(key(1))])
    #expect(failure(core.attemptEnded(key(1), .stopped, at: Samples.start)) == .tooLarge)
    _ = order(&core, Samples.get, 2)
    #expect(receives(&core, 2, total: nil) == [])
    #expect(core.advanced(key(2), to: 101, free: 10_000, at: Samples.start) == [.stop(key(2))])
    #expect(failure(core.attemptEnded(key(2), .stopped, at: Samples.start)) == .tooLarge)
  }

  @Test func `two downloads never hold each other's room`() {
    var core = core(quota: 100)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    #expect(receives(&core, 0, total: 60) == [])
    #expect(receives(&core, 1, total: 60) == [.stop(key(1))])
    _ = core.advanced(key(0), to: 30, free: 10_000, at: Samples.start)
    _ = core.attemptEnded(key(1), .stopped, at: Samples.start)
    #expect(wait(core, 1) == .quota)
    // The first one is interrupted, and keeps its claim.
    _ = core.attemptEnded(key(0), .interrupted("reset"), at: Samples.start)
    #expect(started(core.tick(at: Samples.now(10), free: 10_000)) == [0])
  }

  @Test func `a download stops where the disk would become too full, and goes on later`() {
    var core = core(minFree: 1000, free: 1050)
    _ = order(&core)
    #expect(receives(&core, total: 100) == [.stop(key(0))])
    #expect(core.attemptEnded(key(0), .stopped, at: Samples.start) == [])
    #expect(wait(core) == .room)
    _ = core.tick(at: Samples.now(100), free: 999)
    #expect(wait(core) == .room)
    #expect(started(core.tick(at: Samples.now(200), free: 2000)) == [0])
  }

  @Test func `a full disk is waited for`() {
    var core = core()
    _ = order(&core)
    #expect(core.attemptEnded(key(0), .noRoom("full"), at: Samples.start) == [])
    #expect(wait(core) == .room)
    #expect(core.lives[key(0)]?.status.lastError == "full")
    #expect(started(core.tick(at: Samples.now(2), free: 10_000)) == [0])
  }

  @Test func `an upload needs no room`() {
    var core = core(quota: 1, minFree: 1000, free: 1)
    var transfer = Samples.put
    transfer.size = 100
    #expect(started(order(&core, transfer)) == [0])
    #expect(receives(&core, total: 100) == [])
  }

  // MARK: Orders

  @Test func `a transfer is cancelled while it runs and while it waits`() {
    var core = core(atOnce: 1)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    #expect(settled(core.cancel(key(1), at: Samples.start)) == .cancelled)
    #expect(core.cancel(key(1), at: Samples.start) == [])
    #expect(core.cancel(key(0), at: Samples.start) == [.stop(key(0))])
    #expect(settled(core.attemptEnded(key(0), .interrupted("x"), at: Samples.start)) == .cancelled)
    _ = core.settled(key(0), at: Samples.start)
    #expect(core.lives[key(0)]?.status.state == .ended(.cancelled))
    #expect(core.cancel(key(0), at: Samples.start) == [])
  }

  @Test func `a transfer is forgotten when it has ended`() {
    var core = core()
    _ = order(&core)
    #expect(core.forget(key(0)) == false)
    _ = core.attemptEnded(key(0), .finished(Samples.file()), at: Samples.start)
    #expect(core.forget(key(0)) == false, "its end is not in the journal yet")
    _ = core.settled(key(0), at: Samples.start)
    #expect(core.forget(key(0)) == true)
    #expect(core.forget(key(0)) == true)
    #expect(core.lives.isEmpty)
  }

  @Test func `a request that is released has its transfers cancelled and its files removed, once`() {
    var core = core(atOnce: 1)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    let effects = core.release(RequestID(7), at: Samples.start)
    #expect(effects.contains(.stop(key(0))) && settled(effects) == .cancelled)
    #expect(core.settled(key(1), at: Samples.start) == [])
    _ = core.attemptEnded(key(0), .stopped, at: Samples.start)
    #expect(core.settled(key(0), at: Samples.start) == [.remove(RequestID(7), [key(0), key(1)])])
    #expect(core.isReleased(RequestID(7)))
    #expect(core.tick(at: Samples.start, free: 10_000) == [])
    #expect(core.removed(RequestID(7), at: Samples.start) == [])
    #expect(!core.isReleased(RequestID(7)))
  }

  @Test func `a process that ends stops everything, and starts nothing more`() {
    var core = core(atOnce: 1)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    #expect(core.drain(at: Samples.start) == [.stop(key(0))])
    #expect(!core.isQuiet)
    #expect(core.attemptEnded(key(0), .stopped, at: Samples.start) == [])
    #expect(core.isQuiet)
    #expect(core.tick(at: Samples.now(30), free: 10_000) == [])
  }

  // MARK: What is told

  @Test func `each change is told once, in the order of the changes`() {
    var core = core(atOnce: 1)
    _ = order(&core, Samples.get, 0)
    _ = order(&core, Samples.get, 1)
    let all = core.changes(since: 0, atMost: 10)
    #expect(all.map(\.status.key.index) == [0, 1])
    #expect(core.changes(since: core.lastChange, atMost: 10).isEmpty)
    _ = receives(&core, total: 100)
    let next = core.changes(since: all[1].number, atMost: 10)
    #expect(next.map(\.status.key.index) == [0] && next[0].status.total == 100)
    #expect(core.changes(since: 0, atMost: 1).map(\.status.key.index) == [1])
    #expect(core.statuses(after: key(0), atMost: 10).map(\.key.index) == [1])
  }

  @Test func `the rate is measured over a tenth of a second or more`() {
    var core = core()
    _ = order(&core)
    _ = receives(&core, total: 1000)
    _ = core.advanced(key(0), to: 10, free: 10_000, at: Samples.now(0.05))
    #expect(core.lives[key(0)]?.status.bytesPerSecond == nil)
    _ = core.advanced(key(0), to: 100, free: 10_000, at: Samples.now(0.5))
    #expect(core.lives[key(0)]?.status.bytesPerSecond == 200)
    _ = core.attemptEnded(key(0), .interrupted("x"), at: Samples.now(1))
    #expect(core.lives[key(0)]?.status.bytesPerSecond == nil)
  }
}
