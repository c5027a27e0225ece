import BatonModel
import Testing

@testable import BatonProcess

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite struct SupervisorMachineTests {
  private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

  @Test func `a worker that dies is started anew, after longer and longer waits`() {
    var machine = SupervisorMachine(startedAt: at(0))
    var waits: [Duration] = []
    for round in 0..<7 {
      let effects = machine.take(.workerEnded(.signalled(SIGKILL)), at: at(Int64(round)))
      guard case .report(.signalled(SIGKILL), let wait) = effects.last else { continue }
      #expect(effects == [.cleanUp, .report(.signalled(SIGKILL), during: wait)])
      waits.append(wait)
      #expect(machine.take(.waited, at: at(Int64(round))) == [.start])
    }
    #expect(waits == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
  }

  @Test func `a minute of life makes the wait short again`() {
    var machine = SupervisorMachine(startedAt: at(0))
    for _ in 0..<3 {
      _ = machine.take(.workerEnded(.exited(1)), at: at(0))
      _ = machine.take(.waited, at: at(10))
    }
    #expect(machine.take(.workerEnded(.exited(1)), at: at(69)).last == .report(.exited(1), during: .seconds(8)))
    _ = machine.take(.waited, at: at(100))
    #expect(machine.take(.workerEnded(.exited(1)), at: at(160)).last == .report(.exited(1), during: .seconds(1)))
  }

  @Test(arguments: [0, 64, 65, 69, 77, 78])
  func `a final status passes through`(status: Int32) {
    var machine = SupervisorMachine(startedAt: at(0))
    #expect(machine.take(.workerEnded(.exited(status)), at: at(1)) == [.cleanUp, .end(status: status)])
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a stop is passed on, and whatever ends the worker then is the end`(signal: Int32) {
    var machine = SupervisorMachine(startedAt: at(0))
    #expect(machine.take(.signalled(signal), at: at(1)) == [.forward(signal)])
    #expect(machine.take(.signalled(signal), at: at(2)) == [.forward(signal)])
    #expect(machine.take(.workerEnded(.signalled(signal)), at: at(3)) == [.cleanUp, .end(status: 128 + signal)])
    #expect(machine.take(.signalled(signal), at: at(4)) == [])
  }

  @Test func `a hangup is no stop, unless it ends the worker`() {
    var machine = SupervisorMachine(startedAt: at(0))
    #expect(machine.take(.signalled(SIGHUP), at: at(1)) == [.forward(SIGHUP)])
    #expect(machine.take(.workerEnded(.exited(1)), at: at(2)).last == .report(.exited(1), during: .seconds(1)))
    #expect(machine.take(.waited, at: at(3)) == [.start])
    #expect(machine.take(.signalled(SIGHUP), at: at(4)) == [.forward(SIGHUP)])
    #expect(machine.take(.workerEnded(.signalled(SIGHUP)), at: at(5)) == [.cleanUp, .end(status: 129)])
  }

  @Test func `a stop between two workers ends it at once`() {
    var machine = SupervisorMachine(startedAt: at(0))
    _ = machine.take(.workerEnded(.exited(1)), at: at(1))
    #expect(machine.take(.signalled(SIGHUP), at: at(1)) == [])
    #expect(machine.take(.signalled(SIGTERM), at: at(1)) == [.end(status: 0)])
  }
}
