import BatonModel
import Foundation
import Testing

@Suite("Instants of local times")
struct ZoneOffsetsTests {
  @Test("In every zone, changes are as far apart as is required, and a local time gives the right instant")
  func everyZone() throws {
    let shortest = ZoneOffsets.shortestTimeBetweenChanges.nanoseconds / 1_000_000_000
    for name in TimeZone.knownTimeZoneIdentifiers {
      let offsets = try #require(ZoneOffsets.named(name))
      // From 2000 to 2028.
      let changes = offsets.changes(from: 946_684_800, to: 1_830_297_600)
      #expect(zip(changes, changes.dropFirst()).allSatisfy { $1 - $0 >= shortest }, "\(name)")
      for instant in changes.suffix(3) + [1_772_000_000] { expectInstants(around: instant, in: offsets, name) }
    }
  }

  /// A local time gives the first instant at which clocks show it, or the first instant after the gap.
  private func expectInstants(around change: Int64, in offsets: ZoneOffsets, _ name: String) {
    for distance: Int64 in [-86_400, -3_600, -1_800, -1, 0, 1, 1_800, 3_599, 3_600, 7_200, 86_400] {
      let time = CivilTime(secondsSince1970: change + Int64(offsets.offset(change - 1)) + distance)
      let instant = offsets.instant(of: time)
      let shown = instant + Int64(offsets.offset(instant))
      let isAfterGap = instant == change && shown > time.secondsSince1970
      #expect(shown == time.secondsSince1970 || isAfterGap, "\(name): \(time)")
      let isFirst = ![1_800, 3_600, 7_200, 10_800, 86_400].contains {
        instant - $0 + Int64(offsets.offset(instant - $0)) == time.secondsSince1970
      }
      #expect(isFirst, "\(name): \(time)")
    }
  }

  @Test(
    "A change may have any size",
    arguments: [
      // before, after, local time relative to the change in the old offset, instant relative to the change
      (0, 3_600, -1, -1), (0, 3_600, 0, 0), (0, 3_600, 1_800, 0), (0, 3_600, 3_600, 0), (0, 3_600, 3_601, 1),
      (3_600, 0, -3_600, -3_600), (3_600, 0, -1, -1), (3_600, 0, 0, 3_600), (0, 86_400, 43_200, 0),
      (-36_000, 50_400, 80_000, 0), (43_200, -43_200, -80_000, -80_000), (43_200, -43_200, 0, 86_400),
      (50_400, 50_400, 7, 7), (1, 0, -1, -1), (0, 1, 0, 0), (0, 1, 1, 0),
    ] as [(Int, Int, Int64, Int64)])
  func sizes(before: Int, after: Int, distance: Int64, expected: Int64) {
    let change: Int64 = 1_772_000_000
    let offsets = ZoneOffsets.changing(at: [change], [before, after])
    #expect(offsets.instant(of: CivilTime(secondsSince1970: change + Int64(before) + distance)) == change + expected)
  }

  @Test("A local time has a text")
  func text() throws {
    let date = try #require(CivilDate("2026-03-29"))
    #expect(CivilTime(date, hour: 2, minute: 5).description == "2026-03-29 02:05:00")
    #expect(CivilTime(secondsSince1970: -1).description == "1969-12-31 23:59:59")
    #expect(CivilTime(secondsSince1970: -1).secondOfDay == 86_399)
  }
}
