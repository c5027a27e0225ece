internal import BatonModel
internal import Synchronization

/// Generates numbers for ids. No number occurs twice in one process, as long as the process draws fewer than 2^64
/// numbers. The seed is from the system's generator. Ids are not secrets, and asking the system for each of them took a
/// tenth of a coordinator's time.
package enum RandomNumbers {
  private static let generator: Mutex<SplitMix64> = {
    var system = SystemRandomNumberGenerator()
    return Mutex(SplitMix64(seed: system.next()))
  }()

  package static func next() -> UInt64 { generator.withLock { $0.next() } }

  /// Returns a name that nothing else has: 32 hexadecimal digits.
  package static func name() -> String { TraceID(high: next(), low: next()).description }
}
