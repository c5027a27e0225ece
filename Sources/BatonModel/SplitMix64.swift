/// A generator of random numbers with 64 bits of state (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", doi:10.1145/2660193.2660195). The same seed always gives the same numbers. It is fast and well
/// distributed, and it is not for secrets.
package struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.increment
    return Self.mixed(state)
  }

  /// The generator's output function: a bijection in which every bit of `value` affects every bit of the result.
  package static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// The first number of a generator with this seed: a hash of `seed`.
  package static func first(seed: UInt64) -> UInt64 { mixed(seed &+ increment) }

  package static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15
}
