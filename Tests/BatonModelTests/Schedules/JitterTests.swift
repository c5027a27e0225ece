import BatonModel
import Testing

@Suite("Delays that spread jobs with the same schedule")
struct JitterTests {
  @Test(
    "A delay is the same in each process and version",
    arguments: [
      // Computed by a second program.
      ("com.example.report", 0, .seconds(60), .nanoseconds(35_979_310_715)),
      ("com.example.report", 1_772_000_000, .seconds(60), .nanoseconds(31_279_300_672)),
      ("a", 0, .seconds(3_600), .nanoseconds(1_238_618_324_322)),
      ("", 0, .seconds(86_400), .nanoseconds(56_371_549_222_717)),
    ] as [(String, Int64, Duration, Duration)])
  func stable(identifier: String, seconds: Int64, most: Duration, delay: Duration) {
    #expect(Jitter.delay(of: identifier, at: Timestamp(seconds: seconds), atMost: most) == delay)
  }

  @Test("Delays are uniform, from zero to the most, both included")
  func uniform() {
    var counts = [Int](repeating: 0, count: 11)
    for number in 0..<110_000 {
      let delay = Jitter.delay(
        of: "job-\(number % 100)", at: Timestamp(seconds: Int64(number / 100)), atMost: .nanoseconds(10))
      counts[Int(delay.nanoseconds)] += 1
    }
    // Each count has a mean of 10,000 and a standard deviation of 95.
    #expect(counts.allSatisfy { (9_500...10_500).contains($0) }, "\(counts)")
  }

  @Test("Identifiers and times that differ in one character or second have delays that do not follow each other")
  func different() {
    let jobs = (0..<1_000).map { Jitter.delay(of: "job\($0)", at: Timestamp(seconds: 0), atMost: .seconds(3_600)) }
    let times = (0..<1_000).map { Jitter.delay(of: "job", at: Timestamp(seconds: $0), atMost: .seconds(3_600)) }
    #expect(Set(jobs).count == 1_000)
    #expect(Set(times).count == 1_000)
    #expect(
      Jitter.delay(of: "a", at: Timestamp(seconds: 1), atMost: .seconds(3_600))
        != Jitter.delay(of: "b", at: Timestamp(seconds: 1), atMost: .seconds(3_600)))
  }

  @Test("No delay is asked for, or the longest")
  func limits() {
    #expect(Jitter.delay(of: "a", at: .distantFuture, atMost: .zero) == .zero)
    #expect(Jitter.delay(of: "a", at: .distantFuture, atMost: .seconds(-1)) == .zero)
    let delay = Jitter.delay(of: "", at: Timestamp(nanoseconds: .min), atMost: .seconds(Int64.max))
    #expect(delay >= .zero)
  }
}
