import BatonModel

/// Random choices from a seed: the same seed and stream give the same choices. Each thing that chooses has a stream of
/// its own, so that removing one thing does not change the choices of the others. `Shrinking` depends on that.
struct Draw: RandomNumberGenerator, Sendable {
  private var generator: SplitMix64

  init(seed: UInt64, stream: UInt64 = 0) {
    generator = SplitMix64(seed: SplitMix64.mixed(seed &+ SplitMix64.first(seed: stream)))
  }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }

  /// Returns true with a probability of `percent` in 100.
  mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}
