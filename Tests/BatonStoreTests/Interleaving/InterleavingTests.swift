import BatonModel
import Testing

@testable import BatonStore

/// Two coordinators that write at the same time: ordered pairs of writing verbs, of which the first is held between
/// loading its rows and storing them, while the second runs or has to wait for it. The end, with both answers, has to
/// be that of one of the two serial orders. On one connection to SQLite transactions are serial anyway; on loaded rows
/// the locks alone make them so.
@Suite struct InterleavingTests {
  @Test(arguments: Act.all.indices)
  func eachPairEndsAsOneOfItsSerialOrders(index: Int) throws {
    let (whole, loaded) = (try Fleet.onTheWholeStore(), try Fleet.onLoadedRows())
    let first = Act.all[index]
    for second in first.others {
      let end = try loaded.interleaved(first, second)
      if try whole.ends(first, second, as: end) { continue }
      let serial = [try whole.serial(first, second), try whole.serial(first, second, isReversed: true)]
      Issue.record("\(first.name), while held: \(second.name)\n\(Self.difference(end, serial))")
    }
  }

  /// The same in PostgreSQL, on two connections: what waits there waits for the server's locks. A pair takes longer
  /// there, so only those verbs are tried that meet on an identifier, a request or a host.
  @Test(.enabled(if: TestDatabase.isThere, TestDatabase.hint), arguments: Act.meeting.indices)
  func eachPairEndsAsOneOfItsSerialOrdersInPostgreSQL(index: Int) async throws {
    let (whole, loaded) = (try Fleet.onTheWholeStore(), try PostgresFleet())
    let first = Act.meeting[index]
    for second in first.othersInPostgreSQL {
      let end = try loaded.interleaved(first, second)
      if try whole.ends(first, second, as: end) { continue }
      let serial = [try whole.serial(first, second), try whole.serial(first, second, isReversed: true)]
      Issue.record("\(first.name), while held: \(second.name)\n\(Self.difference(end, serial))")
    }
    #expect(try await loaded.close() == 0, "two transactions waited for each other")
  }

  /// Proves that each lock is needed and taken, and that the comparison can fail. Without the lock of the identifier,
  /// for example, a request that is submitted while the live one ends is stranded.
  @Test(arguments: [
    Control([.identifier], "submit after a live one", "end the only one"),
    Control([.identifier], "end the only one", "submit after a live one"),
    Control([.coordinator], "submit to an idle definition", "remove"),
    Control([.pattern], "claim with a limit", "claim with a limit"),
    Control([.namespace], "claim within a quota", "claim within a quota"),
    Control([.limitKey], "claim with a key", "claim with the same key"),
    Control([.host], "claim two", "end the lease"),
    // The lock of a launch's host covers what its worker reports.
    Control([.request, .host], "checkpoint", "fail one"),
  ])
  func withoutALockAPairEndsOtherwise(control: Control) throws {
    let (whole, unlocked) = (try Fleet.onTheWholeStore(), try Fleet.onLoadedRows(ignoring: control.ignored))
    let (first, second) = (try #require(Act.named(control.first)), try #require(Act.named(control.second)))
    #expect(try !whole.ends(first, second, as: unlocked.interleaved(first, second)))
    #expect(try whole.ends(first, second, as: Fleet.onLoadedRows().interleaved(first, second)))
  }

  @Test(
    .enabled(if: TestDatabase.isThere, TestDatabase.hint),
    arguments: [
      Control([.identifier], "submit after a live one", "end the only one"),
      Control([.identifier], "end the only one", "submit after a live one"),
      Control([.coordinator], "submit to an idle definition", "remove"),
      Control([.pattern], "claim with a limit", "claim with a limit"),
      Control([.namespace], "claim within a quota", "claim within a quota"),
      Control([.limitKey], "claim with a key", "claim with the same key"),
      Control([.host], "claim two", "end the lease"),
      Control([.request, .host], "checkpoint", "fail one"),
    ])
  func withoutALockAPairEndsOtherwiseInPostgreSQL(control: Control) async throws {
    let (whole, unlocked) = (
      try Fleet.onTheWholeStore(), try PostgresFleet(trial: PostgresTrial(ignored: control.ignored))
    )
    let (first, second) = (try #require(Act.named(control.first)), try #require(Act.named(control.second)))
    #expect(try !whole.ends(first, second, as: unlocked.interleaved(first, second)))
    _ = try await unlocked.close()
  }

  struct Control: Sendable, CustomStringConvertible {
    let ignored: Set<RowLock.Table>
    let first: String
    let second: String

    init(_ ignored: Set<RowLock.Table>, _ first: String, _ second: String) {
      (self.ignored, self.first, self.second) = (ignored, first, second)
    }

    var description: String { "\(first), while held: \(second)" }
  }

  /// A group of a busy coordinator loads its rows at once: the verbs that it has most are known to need them.
  @Test func theVerbsOfABusyCoordinatorLoadOnce() throws {
    let fleet = try Fleet.onLoadedRows()
    let server = try #require(fleet.stores[0].server)
    for (name, needs) in fleet.knownNeeds() {
      let act = try #require(Act.named(name))
      try fleet.reset()
      let before = server.loads
      #expect(fleet.run(act, at: 0, needing: needs) != "")
      #expect(server.loads == before + 1, "\(name)")
    }
  }

  private static func difference(_ end: [String], _ serial: [[String]]) -> String {
    serial.map { order in
      (end.filter { !order.contains($0) }.map { "+ \($0)" } + order.filter { !end.contains($0) }.map { "- \($0)" })
        .joined(separator: "\n")
    }.joined(separator: "\nor\n")
  }
}
