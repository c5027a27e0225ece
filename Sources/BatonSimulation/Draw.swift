/// Random choices from a seed: the same seed and stream make the same choices. A stream per thing that chooses keeps the
/// choices of one from changing when another goes, which shrinking needs.
struct Draw: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64, stream: UInt64 = 0) { state = Self.mixed(seed &+ Self.mixed(stream &+ Self.step)) }

  private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// The output function of splitmix64 (Steele, Lea, Flood 2014).
  static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mixed(state)
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }

  /// True in so many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}
