import Synchronization
import Testing

@testable import BatonTelemetry

@Suite struct FanoutTests {
  private static let request = TraceRequest(resource: Resource([]), spans: [Fixture.span(1)])

  @Test(
    arguments: [
      (.delivered, 1), (.partial(rejected: 1, message: ""), 1), (.rejected(reason: ""), 1), (.unreachable, 0),
    ] as [(ExportVerdict, Int)])
  func `the first answer counts, and the others get what will not come again`(
    verdict: ExportVerdict, copies: Int
  ) async {
    let count = Mutex(0)
    let other = ScriptedSender { _ in
      count.withLock { $0 += 1 }
      return .rejected(reason: "full")
    }
    let fanout = OTLPFanout(ScriptedSender { _ in verdict }, others: [other])
    #expect(await fanout.send(Self.request) == verdict)
    #expect(count.withLock { $0 } == copies)
  }
}
