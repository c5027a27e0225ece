import BatonModel
import HostFixtures
import Synchronization
import Testing

@testable import BatonHost
@testable import BatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Noticing changes on the system bus", .timeLimit(.minutes(10)))
struct BusWatchTests {
  @Test("what a program prints means a change, and when its task ends, the program does")
  func changes() async throws {
    try await MachineFolder.with(["line": "printed at once"]) { folder in
      let (events, inbox) = AsyncStream<BusWatch.Event>.makeStream()
      let file = folder.path + "/line"
      let watch = BusWatch(candidates: [["tail", "-n", "1", "-f", file]])
      let task = Task { await watch.run { inbox.yield($0) } }
      #expect(await events.first { _ in true } == .changed)
      let child = try #require(ChildTable.foreign.first { Self.commandLine(of: $0).contains(file) })
      task.cancel()
      await task.value
      #expect(kill(child, 0) != 0, "it is reaped")
      #expect(!ChildTable.foreign.contains(child))
    }
  }

  @Test("a program that ends is started again, with pauses that grow only while it does nothing")
  func pauses() async {
    func pauses(_ candidates: [[String]]) async -> ([Duration], [BusWatch.Event]) {
      let slept = Mutex<[Duration]>([])
      let events = Mutex<[BusWatch.Event]>([])
      let watch = BusWatch(candidates: candidates) { pause in
        let count = slept.withLock {
          $0.append(pause)
          return $0.count
        }
        if count == 4 { throw CancellationError() }
      }
      await watch.run { event in events.withLock { $0.append(event) } }
      return (slept.withLock { $0 }, events.withLock { $0 })
    }
    let failing = await pauses([["false"]])
    #expect(failing.0 == [.seconds(2), .seconds(4), .seconds(8), .seconds(16)])
    #expect(failing.1 == Array(repeating: .blind, count: 4))
    let printing = await pauses([["false"], ["echo", "change"], ["echo", "never asked"]])
    #expect(printing.0 == Array(repeating: .seconds(1), count: 4))
    #expect(printing.1 == Array(repeating: [.changed, .blind], count: 4).flatMap { $0 })
    #expect(await pauses([["no-such-program"]]).1 == [.blind, .blind, .blind, .blind])
  }

  @Test("pauses grow to five minutes and no further")
  func longestPause() async {
    let slept = Mutex<[Duration]>([])
    let watch = BusWatch(candidates: []) { pause in
      let count = slept.withLock {
        $0.append(pause)
        return $0.count
      }
      if count == 20 { throw CancellationError() }
    }
    await watch.run { _ in }
    #expect(slept.withLock { $0.last } == .seconds(300))
  }

  @Test("where there is no bus nothing is started, until there is one")
  func noBus() async {
    let looks = Mutex(0)
    let events = Mutex<[BusWatch.Event]>([])
    let watch = BusWatch(candidates: [["echo", "change"]]) { _ in
      if events.withLock({ $0.contains(.changed) }) { throw CancellationError() }
    } isThere: {
      looks.withLock {
        $0 += 1
        return $0 > 3
      }
    }
    await watch.run { event in events.withLock { $0.append(event) } }
    #expect(events.withLock { $0 } == [.blind, .blind, .blind, .changed, .blind])
  }

  @Test("only root may monitor with busctl, and every program watches the same")
  func programs() {
    #expect(BusWatch.programs(isRoot: false).map { $0[0] } == ["dbus-monitor", "gdbus"])
    #expect(BusWatch.programs(isRoot: true).map { $0[0] } == ["dbus-monitor", "busctl", "gdbus"])
    for program in BusWatch.programs(isRoot: true) {
      #expect(program.joined().contains("login1"))
    }
  }

  private static func commandLine(of pid: Int32) -> String {
    String(decoding: SystemCall.contents(of: "/proc/\(pid)/cmdline") ?? [], as: UTF8.self)
  }
}
