import BatonModel
import Foundation
import Testing

@testable import BatonHost

@Suite("What launches used today")
struct UseLedgerTests {
  private let noon = ManualNow.noon
  private func launch(_ number: Int) -> LaunchKey { LaunchKey(request: RequestID(1), number: number) }

  @Test("a launch counts once, its time and CPU time by what came since the last look")
  func counts() {
    var ledger = UseLedger()
    ledger.count(launch(1), launchTime: .seconds(10), cpuTime: .seconds(4), on: noon)
    ledger.count(launch(1), launchTime: .seconds(30), cpuTime: .seconds(20), on: noon + .seconds(20))
    ledger.count(launch(2), launchTime: .seconds(5), cpuTime: nil, on: noon + .seconds(20))
    #expect(
      ledger.today(noon + .seconds(21))
        == HostUse(launches: 2, launchTime: .seconds(35), cpuTime: .seconds(20)))
    // A later count that is lower does not reduce the use.
    ledger.count(launch(1), launchTime: .seconds(29), cpuTime: .seconds(1), on: noon + .seconds(30))
    #expect(ledger.today(noon).launchTime == .seconds(35) && ledger.today(noon).cpuTime == .seconds(20))
  }

  @Test("a launch that ended is forgotten with the next round, so a late count does not count it twice")
  func ended() {
    var ledger = UseLedger()
    ledger.count(launch(1), launchTime: .seconds(10), cpuTime: .seconds(4), on: noon)
    ledger.end(launch(1))
    // The round had listed the launch before it ended.
    ledger.count(launch(1), launchTime: .seconds(10), cpuTime: nil, on: noon)
    ledger.count(launch(2), launchTime: .seconds(1), cpuTime: .seconds(1), on: noon)
    #expect(ledger.today(noon) == HostUse(launches: 2, launchTime: .seconds(11), cpuTime: .seconds(5)))
    _ = ledger.due(at: Instant(nanoseconds: 0))
    ledger.count(launch(1), launchTime: .seconds(2), cpuTime: nil, on: noon)
    #expect(ledger.today(noon).launches == 3)
  }

  @Test("a day begins at midnight UTC, and what was used before is the day's before")
  func midnight() {
    var ledger = UseLedger()
    ledger.count(launch(1), launchTime: .seconds(3600), cpuTime: .seconds(60), on: noon)
    let midnight = noon + .seconds(12 * 3600)
    #expect(ledger.today(midnight + .milliseconds(-1)).launches == 1)
    #expect(ledger.today(midnight) == HostUse())
    ledger.count(launch(1), launchTime: .seconds(3600 + 50_000), cpuTime: .seconds(61), on: midnight + .seconds(5))
    #expect(ledger.today(midnight + .seconds(5)).launchTime == .seconds(5))
  }

  @Test("it is written at most once a minute, at the end, and only if there is something new")
  func saving() {
    var ledger = UseLedger()
    let start = Instant(nanoseconds: 0)
    #expect(ledger.due(at: start) == nil && ledger.unsaved() == nil)
    ledger.count(launch(1), launchTime: .seconds(1), cpuTime: nil, on: noon)
    #expect(ledger.due(at: start) != nil)
    #expect(ledger.due(at: start + .seconds(120)) == nil)
    ledger.count(launch(1), launchTime: .seconds(2), cpuTime: nil, on: noon)
    #expect(ledger.due(at: start + .milliseconds(59_999)) == nil)
    #expect(ledger.due(at: start + .seconds(60)) != nil)
    ledger.count(launch(1), launchTime: .seconds(3), cpuTime: nil, on: noon)
    #expect(ledger.due(at: start + .seconds(61)) == nil)
    #expect(ledger.unsaved() != nil && ledger.unsaved() == nil)
  }

  @Test("a new worker goes on counting on the same day")
  func restart() async throws {
    let folder = try OwnerFolder()
    let first = UseFile(folder: folder.path)
    first.count(launch(1), launchTime: .seconds(90), cpuTime: .milliseconds(1250), on: noon, isOver: true)
    try await first.save()

    let second = UseFile(folder: folder.path)
    #expect(second.warning == nil)
    #expect(second.today(noon) == HostUse(launches: 1, launchTime: .seconds(90), cpuTime: .milliseconds(1250)))
    second.count(launch(2), launchTime: .seconds(10), cpuTime: nil, on: noon, isOver: false)
    #expect(second.today(noon).launches == 2)
    #expect(UseFile(folder: folder.path).today(noon + .seconds(86_400)) == HostUse())
  }

  @Test("garbage is begun anew, with a warning", arguments: ["", "{}", "7", #"{"day": "x"}"#])
  func garbage(text: String) throws {
    let folder = try OwnerFolder()
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/use.json"))
    let file = UseFile(folder: folder.path)
    #expect(file.warning?.contains("use.json") == true)
    #expect(file.today(noon) == HostUse())
  }
}
