extension Definition {
  /// The bounds of the values in a definition. The reader of job files, the coordinator, the store and the worker check
  /// definitions against these same numbers; `Documentation/reference/limits.md` lists them.
  package enum Limits {
    /// The largest definition that is stored and sent, in bytes of JSON: 64 KiB.
    package static let bytes = 64 << 10
    /// The longest title or subtitle, in Unicode scalars.
    package static let titleLength = 200
    /// The longest duration, in seconds: 10 years of 365 days. A longer duration is a typing error. The bound keeps
    /// sums of durations far from overflow.
    package static let longestDurationInSeconds: Int64 = 10 * 365 * 86_400
    package static let longestDuration = Duration.seconds(longestDurationInSeconds)
    /// The dates that a definition may name, in seconds since 1970: the years 1970 to 2260, which are the whole years
    /// that fit in 64 bits of nanoseconds.
    package static let datesInSeconds: Range<Int64> = 0..<9_183_110_400
    /// Whether the date is in one of these years.
    package static func contains(_ date: Timestamp) -> Bool {
      date.nanoseconds >= 0 && datesInSeconds.contains(date.nanoseconds / 1_000_000_000)
    }
    /// The closing windows that a definition may set. The default depends on the kind (contract, row 16).
    package static let closingWindow = Duration.seconds(1)...Duration.seconds(600)
    /// The times without progress that a definition may allow. At most a day: no job needs longer (contract, row 32).
    package static let stallAfter = Duration.seconds(1)...Duration.seconds(86_400)
    /// The times that a definition may allow for a batch. A batch is what an interruption repeats, so one of more than
    /// a week is a typing error.
    package static let batchTimeout = Duration.seconds(1)...Duration.seconds(7 * 86_400)
    /// The launch time in a day that a definition may allow (contract, row 17).
    package static let dailyAllowance = Duration.seconds(1)...Duration.seconds(86_400)
    /// How long a definition may let its ended requests be kept. The coordinator keeps house once a minute.
    package static let retention = Duration.seconds(60)...longestDuration
    /// The spacings of pokes that a definition may set. At most a week: a job that runs less often needs no pokes
    /// (contract, row 41).
    package static let pokeSpacing = Duration.zero...Duration.seconds(7 * 86_400)
    /// How many patterns `maySubmit` may have.
    package static let submittedPatterns = 1...32
    /// How many jobs `after` may name.
    package static let dependencies = 1...32
    /// How many jobs `onSuccess` and `onFailure` may name.
    package static let followUps = 1...32
    package static let slots = 1...1_024
    package static let gpus = 1...1_024
    /// The weights of preferred labels. With the most labels their sum stays far from overflow.
    package static let labelWeight = 1...1_000
    package static let retries = 0...1_000
    /// The times by which waits before retries may differ.
    package static let retryJitter = Duration.zero...Duration.seconds(86_400)
    /// After how many failures a batch may be skipped, and how many batches may be.
    package static let skips = 1...1_000
    /// How many kinds of failure `retry.on` or `retry.notOn` may name.
    package static let failureKinds = 1...64
    package static let maxRunning = 1...100_000
    /// The upper end is the coordinator's default limit for the pending requests of all identifiers together (contract,
    /// row 6).
    package static let pending = 1...2_000_000
    package static let batchSize = 1...100_000
    /// How many shards of a request may be in work at once. Beyond it the bookkeeping of one request, which every end
    /// of a shard reads, would cost more than the work.
    package static let spread = 1...1_024
    /// The shards of work without items. Each of them is a row in the store.
    package static let shards = 1...10_000
    package static let shardSize = 1...rangeItems
    /// The most shards that a request is cut into, also by splits.
    package static let shardsOfRequest = 65_536
    /// The most transfers of a definition, and of one addition by a launch.
    package static let transfers = 100
    /// The most transfers of a request, with those that its launches have added.
    package static let transfersOfRequest = 10_000
    /// The most secrets of a command. The worker gives each one to the command by a descriptor of its own.
    package static let secrets = 32
    /// The longest name of a secret, in bytes.
    package static let secretNameBytes = 200
    /// The most items of a range. With batches of one item, 1,000,000,000 items take about three days for the commits
    /// alone (4,100 commits per second were measured, with `synchronous=FULL`). A longer range is a typing error.
    /// Within this bound the number of batches fits in 32 bits.
    package static let rangeItems = 1_000_000_000
  }
}
