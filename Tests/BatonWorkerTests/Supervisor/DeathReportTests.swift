import BatonBase
import BatonModel
import BatonWire
import Testing

@testable import BatonWorker

/// How a supervisor tells the coordinator of a worker's death.
@Suite struct DeathReportTests {
  private struct Unreachable: Error {}

  private let clocks = Clocks(instant: { Instant(nanoseconds: 0) }, sleep: { _ in })

  @Test func `a report that does not arrive is repeated until it is accepted`() async throws {
    var attempts = 0
    await DeathReport.untilAccepted(by: try addresses(1), clocks) { _ in
      attempts += 1
      if attempts < 3 { throw Unreachable() }
    }
    #expect(attempts == 3)
  }

  @Test func `a report goes from one address to the next until it is accepted, and then to no other`() async throws {
    let addresses = try addresses(3)
    var tried: [HostPort] = []
    await DeathReport.untilAccepted(by: addresses, clocks) { address in
      tried.append(address)
      if tried.count < 5 { throw Unreachable() }
    }
    #expect(tried == addresses + addresses.prefix(2))
  }

  private func addresses(_ count: Int) throws -> [HostPort] {
    try (1...count).map { try HostPort(parsing: "127.0.0.1:\($0)") }
  }
}
