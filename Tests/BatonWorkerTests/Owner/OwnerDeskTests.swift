import BatonBase
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonHost
@testable import BatonProcess

@Suite("The owner's word")
struct OwnerDeskTests {
  /// Hours in which the host is closed at noon and open from 22:00 to 07:00. Local time is UTC.
  private func nightly() throws -> LendingHours {
    try LendingHours(
      parsing: ["22:00-07:00"],
      calendar: LocalCalendar(
        time: { LocalTime(day: Int($0.wholeSeconds / 86_400), second: Int($0.wholeSeconds % 86_400)) },
        date: { Timestamp(nanoseconds: Int64($0.day * 86_400 + $0.second) * 1_000_000_000) }))
  }

  @Test("accepting, paused and restricted by hours are three words, and the pause comes first", .contract(26.1))
  func words() throws {
    let opening = ManualNow.noon + .seconds(10 * 3600)
    let host = try FakeHost(hours: nightly())
    #expect(host.desk.word() == .outsideHours(until: opening))
    host.desk.pause(by: "ann", for: nil)
    #expect(host.desk.word() == .paused(by: "ann", until: nil))
    host.desk.resume()
    #expect(host.desk.word() == .outsideHours(until: opening))
    host.clock.advance(.seconds(10 * 3600))
    host.desk.check()
    #expect(host.desk.word() == .accepting)
    #expect(host.words.values == [.paused(by: "ann", until: nil), .outsideHours(until: opening), .accepting])
  }

  @Test("who listens hears each new word once, before the answer")
  func listener() throws {
    let host = try FakeHost(running: 2)
    host.desk.check()
    #expect(host.words.values.isEmpty)
    host.desk.pause(by: "ann", for: .seconds(60))
    #expect(host.status.launches.allSatisfy { $0.expiring?.reason == "pausedByOwner" })
    host.desk.check()
    host.desk.pause(by: "ann", for: .seconds(60))
    #expect(host.words.values == [.paused(by: "ann", until: ManualNow.noon + .seconds(60))])
  }

  @Test("a pause ends by itself, whatever the wall clock is set to")
  func ends() throws {
    let host = try FakeHost()
    host.desk.pause(by: "ann", for: .seconds(60))
    host.clock.set(.seconds(86_400))
    host.desk.check()
    #expect(host.words.values.count == 1)
    host.clock.set(.seconds(-2 * 86_400))
    host.clock.advance(.seconds(60))
    host.desk.check()
    #expect(host.words.values.last == .accepting && host.words.values.count == 2)
  }

  @Test("a second pause takes the place of the first, also if it is shorter")
  func second() throws {
    let host = try FakeHost()
    host.desk.pause(by: "ann", for: .seconds(3600))
    host.desk.pause(by: "bob", for: .seconds(60))
    #expect(host.desk.word() == .paused(by: "bob", until: ManualNow.noon + .seconds(60)))
    host.clock.advance(.seconds(60))
    #expect(host.desk.word() == .accepting)
  }

  @Test("a pause is on file before the answer, and goes on after a restart")
  func restart() throws {
    let first = try FakeHost()
    #expect(first.desk.pause(by: "ann", for: .seconds(3600)) == nil)
    #expect(FileManager.default.fileExists(atPath: first.pauseFile))
    first.clock.advance(.seconds(600))

    let second = try FakeHost(folder: first.folder, clock: first.clock)
    #expect(second.desk.word() == .paused(by: "ann", until: ManualNow.noon + .seconds(3600)))
    #expect(second.desk.warning == nil && second.words.values.isEmpty)
    second.clock.advance(.seconds(3000))
    #expect(second.desk.word() == .accepting)

    second.desk.pause(by: "ann", for: nil)
    #expect(second.desk.resume() == nil)
    #expect(try FakeHost(folder: first.folder).desk.word() == .accepting)
    #expect(try FileManager.default.contentsOfDirectory(atPath: first.folder.path).isEmpty)
  }

  @Test(
    "a file that is garbage counts as a pause until resume, with a warning",
    arguments: ["", "{", "null", "[]", #"{"by": "ann"}"#, #"{"by": "ann", "since": "yesterday"}"#, "\u{0}\u{0}\u{0}"])
  func garbage(text: String) throws {
    let folder = try OwnerFolder()
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/pause.json"))
    let host = try FakeHost(folder: folder)
    #expect(host.desk.word() == .paused(by: "unknown", until: nil))
    #expect(host.desk.warning?.contains(host.pauseFile) == true)
    #expect(host.desk.resume() == nil)
    #expect(try FakeHost(folder: folder).desk.word() == .accepting)
  }

  @Test("a file that cannot be read counts as a pause, too")
  func unreadable() throws {
    let folder = try OwnerFolder()
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/pause.json", withDestinationPath: "pause.json")
    let host = try FakeHost(folder: folder)
    #expect(host.desk.word() == .paused(by: "unknown", until: nil))
    #expect(host.desk.warning?.contains("symbolic link") == true)
  }

  @Test("where nothing can be written the host is paused all the same, and the owner is told")
  func fullDisk() throws {
    let host = try FakeHost()
    try FileManager.default.createDirectory(atPath: host.pauseFile + ".new", withIntermediateDirectories: false)
    let warning = host.desk.pause(by: "ann", for: nil)
    #expect(warning?.contains("lost when the worker ends") == true)
    #expect(host.words.values == [.paused(by: "ann", until: nil)])

    try FileManager.default.removeItem(atPath: host.folder.path)
    #expect(host.desk.resume()?.contains("paused again") == true)
    #expect(host.desk.word() == .accepting)
  }

  @Test("of a hundred words said at once the last is on file, and who listens has heard it last")
  func atOnce() async throws {
    let host = try FakeHost()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          _ = try? await onOwnThread { host.desk.pause(by: "\(number)", for: nil) }
          host.desk.check()
        }
      }
    }
    #expect(host.words.values.last == host.desk.word())
    #expect(try FakeHost(folder: host.folder).desk.word() == host.desk.word())
  }
}
