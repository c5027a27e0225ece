/// A delay that spreads jobs with the same schedule, so that they do not all start in the same second.
package enum Jitter {
  /// The delay of `identifier` at `time`, uniform from zero to `most`, both included, in nanoseconds.
  ///
  /// The delay depends on the three parameters only: it is the same after a restart, on each machine and in each
  /// version. Another time gives another delay, so that no job is always the last. No probability differs from the
  /// uniform one by more than one in 2^64. The delay is not secret: everything can compute it.
  /// - Parameter most: zero or less gives no delay.
  package static func delay(of identifier: String, at time: Timestamp, atMost most: Duration) -> Duration {
    guard most.nanoseconds > 0 else { return .zero }
    let count = UInt64(most.nanoseconds) + 1
    let random = SplitMix64.first(seed: hash(identifier) ^ SplitMix64.first(seed: UInt64(bitPattern: time.nanoseconds)))
    return .nanoseconds(Int64(random.multipliedFullWidth(by: count).high))
  }

  /// A hash of the UTF-8 bytes. `Hasher` gives other values in each process.
  private static func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(UInt64(text.utf8.count)) { SplitMix64.first(seed: $0 ^ UInt64($1)) }
  }
}
