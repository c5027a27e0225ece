extension Definition {
  /// The bounds of what a definition may say. The reader of job files, the coordinator, the store and the worker hold
  /// definitions to the same numbers; `Documentation/reference/limits.md` lists them.
  package enum Limits {
    /// Largest definition as it is stored and sent, in bytes of JSON: 64 KiB.
    package static let bytes = 64 << 10
    /// Longest title or subtitle, in Unicode scalars.
    package static let titleLength = 200
    /// Longest duration, 10 years of 365 days, in seconds: longer ones are typing errors, and sums stay far from
    /// overflow.
    package static let longestDurationInSeconds: Int64 = 10 * 365 * 86_400
    package static let longestDuration = Duration.seconds(longestDurationInSeconds)
    /// Dates from 1970 to 2260, the whole years that fit nanoseconds in 64 bits; in seconds since 1970.
    package static let datesInSeconds: Range<Int64> = 0..<9_183_110_400
    /// What an expiry may take; the default follows the kind (contract, row 16).
    package static let closingWindow = Duration.seconds(1)...Duration.seconds(600)
    /// A day without progress is long enough for every job (contract, row 32).
    package static let stallAfter = Duration.seconds(1)...Duration.seconds(86_400)
    /// Of a day (contract, row 17).
    package static let dailyAllowance = Duration.seconds(1)...Duration.seconds(86_400)
    /// A job that runs less often than weekly needs no pokes (contract, row 41).
    package static let pokeSpacing = Duration.zero...Duration.seconds(7 * 86_400)
    package static let slots = 1...1_024
    package static let gpus = 1...1_024
    package static let retries = 0...1_000
    package static let maxRunning = 1...100_000
    /// The coordinator's own default for all identifiers together is the upper end (contract, row 6).
    package static let pending = 1...2_000_000
    package static let batchSize = 1...100_000
    /// Most items of a range. At 4,100 commits a second (FULL, measured) a thousand million batches of one item take
    /// about three days of nothing but commits; a longer range is a typing error, and its progress still fits 32 bits.
    package static let rangeItems = 1_000_000_000
  }
}
