import BatonModel
import Testing

@testable import BatonStore

/// When the next waiting request may become ready, on each of the two clocks.
@Suite struct NextDueTests {
  private static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  /// The steady clock shows `steady` seconds after the start, and the wall clock `date` seconds.
  private static func moment(steady: Int, date: Int) -> Moment {
    Moment(date: start + .seconds(date), steady: start + .seconds(steady))
  }

  private static func due(steady: Int? = nil, date: Int? = nil) -> NextDue {
    NextDue(steady: steady.map { start + .seconds($0) }, date: date.map { start + .seconds($0) })
  }

  @Test(arguments: [
    (due(steady: 3), due(steady: 10), due(steady: 3)), (due(steady: 10), due(steady: 3), due(steady: 3)),
    (due(date: 3), due(date: 10), due(date: 3)), (due(date: 10), due(date: 3), due(date: 3)),
    (due(steady: 3), due(), due(steady: 3)), (due(), due(date: 3), due(date: 3)), (due(), due(), due()),
    (due(steady: 3), due(date: 1), due(steady: 3, date: 1)),
    (due(steady: 3, date: 9), due(steady: 5, date: 7), due(steady: 3, date: 7)),
  ])
  func `of two times the earlier one is kept, for each clock`(one: NextDue, other: NextDue, joined: NextDue) {
    var due = one
    due.join(other)
    #expect(due == joined)
  }

  @Test(arguments: [
    (due(), false), (due(steady: 5), true), (due(steady: 6), false), (due(date: 2), true), (due(date: 3), false),
    (due(steady: 6, date: 2), true), (due(steady: 5, date: 3), true), (due(steady: 6, date: 3), false),
  ])
  func `each time is compared with its own clock, and has come when the clock shows it`(due: NextDue, hasCome: Bool) {
    #expect(due.hasCome(at: Self.moment(steady: 5, date: 2)) == hasCome)
  }
}
