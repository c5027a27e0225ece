import BatonModel

/// Random choices from a seed: the same seed and stream make the same choices. A stream per thing that chooses keeps the
/// choices of one from changing when another goes, which shrinking needs.
struct Draw: RandomNumberGenerator, Sendable {
  private var generator: SplitMix64

  init(seed: UInt64, stream: UInt64 = 0) {
    generator = SplitMix64(seed: SplitMix64.mixed(seed &+ SplitMix64.first(seed: stream)))
  }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }

  /// True in so many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}
