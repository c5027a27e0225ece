internal import BatonModel

/// The waits between the attempts of a transfer.
enum Backoff {
  /// The wait after the first attempt that brought nothing. It doubles with each further one, up to `longest`.
  static let first = Duration.seconds(1)
  static let longest = Duration.seconds(600)

  /// - Parameters:
  ///   - failures: how many attempts in a row brought no byte, 0 after one that brought some.
  ///   - key: spreads the waits of transfers that broke together over a quarter of the wait, always in the same way.
  static func wait(after failures: Int, of key: TransferKey) -> Duration {
    let whole = min(longest, first * (1 << min(failures, 10)))
    let seed = UInt64(bitPattern: key.request.rawValue) &+ UInt64(key.index) &* 31 &+ UInt64(failures)
    return whole - whole * Int(SplitMix64.mixed(seed) % 256) / 1024
  }
}
