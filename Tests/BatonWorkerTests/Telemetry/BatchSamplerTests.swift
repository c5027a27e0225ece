import BatonModel
import Testing

@testable import BatonWorker

/// Which batches are sent, and why. A row has the steps of a handler, each with its time in seconds, and the effects of
/// the start and of each step.
@Suite struct BatchSamplerTests {
  enum Step {
    case announced(Double)
    case committed(Double)
    case ends(BatchSampler.End, Double)
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    var sampling = BatchSampling(interval: 0)
    var firstBatch = 0
    var repeatsBatch = false
    let steps: [Step]
    let effects: [[BatchSampler.Effect]]
  }

  static func effects(_ row: Row) -> [[BatchSampler.Effect]] {
    var sampler = BatchSampler(row.sampling, seed: 1, firstBatch: row.firstBatch, repeatsBatch: row.repeatsBatch)
    func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }
    return [sampler.begin(at: at(0))]
      + row.steps.map { step in
        switch step {
        case .announced(let time): sampler.announced(at: at(time))
        case .committed(let time): sampler.committed(at: at(time))
        case .ends(let end, let time): sampler.end(end, at: at(time))
        }
      }
  }

  static let ownLoop = [
    Row(
      testDescription: "the first is sent, the next is held and dropped, the last is sent",
      steps: [.committed(1), .committed(2), .committed(3), .ends(.finished, 3)],
      effects: [
        [.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.hold, .begin(batch: 2)],
        [.dropHeld, .hold, .begin(batch: 3)], [.endHeld(.last), .drop],
      ]),
    Row(
      testDescription: "one batch is the first, and nothing is held",
      steps: [.committed(1), .ends(.finished, 1)],
      effects: [[.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.drop]]),
    Row(
      testDescription: "a handler without batches has none", steps: [.ends(.finished, 9)],
      effects: [[.begin(batch: 0)], [.drop]]),
    Row(
      testDescription: "a failure is the batch that was open; the last that was committed is sent beside it",
      steps: [.committed(1), .committed(2), .ends(.failed, 3)],
      effects: [
        [.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.hold, .begin(batch: 2)],
        [.endHeld(.last), .end(.failed)],
      ]),
    Row(
      testDescription: "a failure before the first commit", steps: [.ends(.failed, 1)],
      effects: [[.begin(batch: 0)], [.end(.failed)]]),
    Row(
      testDescription: "an interruption need not have come within a batch",
      steps: [.committed(1), .committed(2), .ends(.interrupted, 2)],
      effects: [
        [.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.hold, .begin(batch: 2)], [.endHeld(.last), .drop],
      ]),
    Row(
      testDescription: "a slow one that is interrupted is sent",
      steps: [.committed(1), .committed(2), .ends(.interrupted, 9)],
      effects: [
        [.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.hold, .begin(batch: 2)],
        [.endHeld(.last), .end(.slow)],
      ]),
    Row(
      testDescription: "the first of a resumed launch is repeated, and numbers go on",
      firstBatch: 7, repeatsBatch: true, steps: [.committed(1), .committed(2), .ends(.finished, 2)],
      effects: [
        [.begin(batch: 7)], [.end(.repeated), .begin(batch: 8)], [.hold, .begin(batch: 9)], [.endHeld(.last), .drop],
      ]),
    Row(
      testDescription: "with an interval of 1 all are sent, and none is held", sampling: BatchSampling(interval: 1),
      steps: [.committed(1), .committed(2), .committed(3), .ends(.finished, 3)],
      effects: [
        [.begin(batch: 0)], [.end(.first), .begin(batch: 1)], [.end(.drawn), .begin(batch: 2)],
        [.end(.drawn), .begin(batch: 3)], [.drop],
      ]),
  ]

  static let announced = [
    Row(
      testDescription: "nothing is open between a commit and the next announcement, nor at the end",
      steps: [
        .announced(1), .committed(2), .announced(2), .committed(3), .announced(3), .committed(4), .ends(.finished, 5),
      ],
      effects: [
        [.begin(batch: 0)], [.restart], [.end(.first)], [.begin(batch: 1)], [.hold], [.dropHeld, .begin(batch: 2)],
        [.hold], [.endHeld(.last)],
      ]),
    Row(
      testDescription: "an interrupted batch is the last",
      steps: [.announced(0), .committed(1), .announced(1), .committed(2), .announced(2), .ends(.interrupted, 3)],
      effects: [
        [.begin(batch: 0)], [.restart], [.end(.first)], [.begin(batch: 1)], [.hold], [.dropHeld, .begin(batch: 2)],
        [.end(.last)],
      ]),
    Row(
      testDescription: "a failed batch is failed, and was the last",
      steps: [.announced(0), .committed(1), .announced(1), .committed(2), .announced(2), .ends(.failed, 3)],
      effects: [
        [.begin(batch: 0)], [.restart], [.end(.first)], [.begin(batch: 1)], [.hold], [.dropHeld, .begin(batch: 2)],
        [.end(.failed)],
      ]),
    Row(
      testDescription: "a failure after the last batch is nobody's",
      steps: [.announced(0), .committed(1), .ends(.failed, 2)],
      effects: [[.begin(batch: 0)], [.restart], [.end(.first)], []]),
    Row(
      testDescription: "a batch that was left by returning is the last",
      steps: [.announced(0), .committed(1), .announced(1), .ends(.finished, 2)],
      effects: [[.begin(batch: 0)], [.restart], [.end(.first)], [.begin(batch: 1)], [.end(.last)]]),
    Row(
      testDescription: "a batch that is announced anew begins anew",
      steps: [.announced(0), .announced(1), .committed(2)],
      effects: [[.begin(batch: 0)], [.restart], [.restart], [.end(.first)]]),
    Row(
      testDescription: "a checkpoint between two batches has a number and no span",
      steps: [.announced(0), .committed(1), .committed(2), .announced(2), .ends(.failed, 3)],
      effects: [[.begin(batch: 0)], [.restart], [.end(.first)], [], [.begin(batch: 2)], [.end(.failed)]]),
  ]

  @Test(arguments: ownLoop + announced)
  func `what is sent of a launch`(row: Row) { #expect(Self.effects(row) == row.effects) }

  /// The durations of batches in seconds, and the indices of the slow ones. Another batch with the first duration comes
  /// before them.
  @Test(
    arguments: [
      ([2, 2, 8, 2], []), ([2, 2, 8.1, 2], [2]),
      // The long batch adds an eighth of the difference to the usual duration, which is 2.75 s now.
      ([2, 2, 8, 11], []), ([2, 2, 8, 11.1], [3]),
      // If batches take milliseconds, a batch of one second is not slow.
      ([0.01, 0.01, 1, 1.1, 0.01], [3]),
      // One slow batch does not hide the next.
      ([2, 900, 900, 2], [1, 2]),
      // If all batches become slow, their duration soon is the usual one.
      ([2, 20, 20, 20, 20, 20, 20], [1, 2, 3]),
    ] as [([Double], [Int])])
  func `slow is over four times as long as usual so far, and over a second`(durations: [Double], slow: [Int]) {
    var sampler = BatchSampler(BatchSampling(interval: 0), seed: 1)
    var now = Instant(nanoseconds: 0)
    _ = sampler.begin(at: now)
    let first = durations[0]
    let found = ([first] + durations).map { duration in
      now = now + .nanoseconds(Int64(duration * 1e9))
      return sampler.committed(at: now).contains(.end(.slow))
    }
    #expect(found.dropFirst().enumerated().filter(\.element).map(\.offset) == slow)
  }

  @Test func `one in so many is drawn, the same ones wherever the launch begins`() {
    func drawn(from first: Int, seed: UInt64) -> Set<Int> {
      var sampler = BatchSampler(BatchSampling(interval: 100), seed: seed, firstBatch: first)
      let now = Instant(nanoseconds: 0)
      var drawn: Set<Int> = []
      _ = sampler.begin(at: now)
      while sampler.batch < 20_000 {
        let batch = sampler.batch
        if sampler.committed(at: now).contains(.end(.drawn)) { drawn.insert(batch) }
      }
      return drawn
    }
    let all = drawn(from: 0, seed: 7)
    // Three standard deviations of 200.
    #expect((157...243).contains(all.count), "\(all.count)")
    #expect(drawn(from: 5000, seed: 7) == all.filter { $0 > 5000 })
    #expect(drawn(from: 0, seed: 8) != all)
  }

  @Test func `another process may name a batch that was announced and is certain to be sent`() {
    var sampler = BatchSampler(BatchSampling(interval: 0), seed: 1)
    let now = Instant(nanoseconds: 0)
    _ = sampler.begin(at: now)
    #expect(!sampler.isCertain, "a command with a cursor outlives its first batch")
    _ = sampler.announced(at: now)
    #expect(sampler.isCertain)
    _ = sampler.committed(at: now)
    #expect(!sampler.isCertain, "none is open")
    _ = sampler.announced(at: now)
    #expect(!sampler.isCertain)
    #expect(sampler.committed == 1)
  }
}
