internal import Synchronization

/// Generates numbers for ids. No number occurs twice in one process, as long as it draws fewer than 2^64: the algorithm
/// is SplitMix64 (Steele, Lea, Flood, doi:10.1145/2660193.2660195), with a seed from the system's generator. Ids are
/// not secrets, and asking the system for each of them took a tenth of a coordinator's time.
package enum RandomNumbers {
  private static let state = Mutex(SystemRandomNumberGenerator.first)

  package static func next() -> UInt64 {
    var number = state.withLock { state in
      state &+= 0x9e37_79b9_7f4a_7c15
      return state
    }
    number = (number ^ number >> 30) &* 0xbf58_476d_1ce4_e5b9
    number = (number ^ number >> 27) &* 0x94d0_49bb_1331_11eb
    return number ^ number >> 31
  }
}

extension SystemRandomNumberGenerator {
  fileprivate static var first: UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}
