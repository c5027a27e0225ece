internal import Synchronization

/// Numbers for ids, none of which comes twice from one process: SplitMix64 (Steele, Lea, Flood,
/// doi:10.1145/2660193.2660195), from where the system's generator says. Ids are no secrets, and asking the
/// system for each was a tenth of a coordinator's time.
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
