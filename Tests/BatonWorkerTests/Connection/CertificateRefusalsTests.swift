import BatonModel
import Testing

@testable import BatonWorker

/// How long a worker waits whose certificate the coordinators refuse.
@Suite struct CertificateRefusalsTests {
  private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

  @Test func `the wait doubles with each refusal, up to five minutes, and counts from the last one`() {
    var refusals = CertificateRefusals()
    #expect(refusals.pause(for: "a", addresses: 1, at: at(0)) == .zero)
    var waits: [Duration] = []
    for _ in 1...7 {
      refusals.refused("a", at: at(0))
      waits.append(refusals.pause(for: "a", addresses: 1, at: at(0)))
    }
    #expect(waits == [10, 20, 40, 80, 160, 300, 300].map { .seconds($0) })
    #expect(refusals.pause(for: "a", addresses: 1, at: at(299)) == .seconds(1))
    #expect(refusals.pause(for: "a", addresses: 1, at: at(301)) == .zero)
  }

  @Test func `another certificate does not wait, and an accepted one starts again`() {
    var refusals = CertificateRefusals()
    for _ in 1...5 { refusals.refused("a", at: at(0)) }
    #expect(refusals.pause(for: "b", addresses: 1, at: at(0)) == .zero)
    refusals.refused("b", at: at(0))
    #expect(refusals.pause(for: "b", addresses: 1, at: at(0)) == .seconds(10))
    refusals.accepted()
    #expect(refusals.pause(for: "b", addresses: 1, at: at(0)) == .zero)
  }

  @Test func `each of several coordinators is asked once without a wait`() {
    var refusals = CertificateRefusals()
    for wait in [0, 0, 10, 10, 10, 20] {
      refusals.refused("a", at: at(0))
      #expect(refusals.pause(for: "a", addresses: 3, at: at(0)) == .seconds(wait))
    }
  }

  @Test func `the message stays the same for twelve refusals, so that it is logged seldom`() {
    var refusals = CertificateRefusals()
    var told: [String] = []
    for _ in 1...36 {
      refusals.refused("a", at: at(0))
      let text = refusals.told("no")
      if told.last != text { told.append(text) }
    }
    #expect(told.count == 4)
    #expect(told.first?.hasPrefix("no. The attempts are up to 5 minutes apart") == true)
    #expect(told.last?.hasSuffix("(refused 36 times by now)") == true)
  }
}
