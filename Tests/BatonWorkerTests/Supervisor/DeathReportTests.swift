import BatonBase
import BatonModel
import Testing

@testable import BatonWorker

/// How a supervisor tells the coordinator of a worker's death.
@Suite struct DeathReportTests {
  private struct Unreachable: Error {}

  @Test func `a report that does not arrive is repeated until it is accepted`() async {
    let clocks = Clocks(instant: { Instant(nanoseconds: 0) }, sleep: { _ in })
    var attempts = 0
    await DeathReport.untilAccepted(clocks) {
      attempts += 1
      if attempts < 3 { throw Unreachable() }
    }
    #expect(attempts == 3)
  }
}
